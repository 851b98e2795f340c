// What every kernel starts with: buffer references by address (no descriptor sets).
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer U32 { uint v[]; };

#define PUSH(Params) layout(push_constant, scalar) uniform Push { Params p; }

// One invocation per element of a flat range, over a 2-D grid when it exceeds 65,535 groups. A macro:
// a function above the shader's local_size declaration would see a workgroup size of 1.
#define flat_index()                                                                    \
  ((gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + \
   gl_LocalInvocationID.x)
