function(lemnos_glslc_knows out extension)
  set(probe ${CMAKE_BINARY_DIR}/generated/probe/${extension}.comp)
  file(CONFIGURE OUTPUT ${probe} CONTENT "#version 460\n#extension ${extension} : require\nvoid main() {}\n" @ONLY)
  execute_process(COMMAND ${GLSLC} --target-env=vulkan1.2 -o ${probe}.spv ${probe} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message(STATUS "${GLSLC} does not know ${extension}")
    set(${out} FALSE PARENT_SCOPE)
  else()
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Compiles every src/**/*.comp to SPIR-V and embeds it (an assembler file of .incbin lines).
#
# Not optimised here: -O unrolls [[unroll]] loops and leaves `precise` (NoContraction) off the copies,
# after which drivers may simplify a compensated sum's error to zero. Drivers unroll by themselves.
#
# A shader is built once as `<stem>`, or once per line of the form
#   //! variant <suffix> <glslc flags...>
# as `<stem>.<suffix>`. A shader with a line
#   //! requires <GLSL extension> [variant...]
# is left out, or those variants of it are, where the shader compiler does not know the extension.
function(lemnos_embed_shaders out)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.comp)
  set(dir ${CMAKE_BINARY_DIR}/generated/spv)
  file(MAKE_DIRECTORY ${dir})
  set(table "")
  set(externs "")
  set(bytes "")
  set(built "")
  foreach(shader IN LISTS shaders)
    get_filename_component(stem ${shader} NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader})
    file(STRINGS ${shader} requires REGEX "^//! requires ")
    string(REGEX REPLACE "^//! requires +" "" requiring "${requires}")
    separate_arguments(requiring)
    list(POP_FRONT requiring extension)
    set(known TRUE)
    if(requires)
      lemnos_glslc_knows(known ${extension})
    endif()
    file(STRINGS ${shader} variants REGEX "^//! variant ")
    if(NOT variants)
      set(variants "//! variant -")
    endif()
    foreach(line IN LISTS variants)
      string(REGEX REPLACE "^//! variant +" "" line "${line}")
      separate_arguments(words UNIX_COMMAND "${line}")
      list(POP_FRONT words suffix)
      if(NOT known AND (NOT requiring OR suffix IN_LIST requiring))
        message(STATUS "left out: ${stem}.${suffix}")
        continue()
      endif()
      set(name ${stem})
      if(NOT suffix STREQUAL "-")
        set(name ${stem}.${suffix})
      endif()
      set(spv ${dir}/${name}.spv)
      add_custom_command(OUTPUT ${spv}
        COMMAND ${GLSLC} --target-env=vulkan1.2 -Werror ${words} -I ${CMAKE_SOURCE_DIR}/src
                -MD -MF ${spv}.d -o ${spv} ${shader}
        COMMAND ${SPIRV_VAL} --target-env vulkan1.2 --scalar-block-layout ${spv}
        DEPENDS ${shader} DEPFILE ${spv}.d COMMENT "Shader ${name}" VERBATIM)
      list(APPEND built ${spv})
      string(MAKE_C_IDENTIFIER "lemnos_spv_${name}" symbol)
      string(APPEND bytes ".globl ${symbol}\n.globl ${symbol}_end\n.balign 4\n${symbol}:\n.incbin \"${spv}\"\n${symbol}_end:\n")
      string(APPEND externs "extern const uint32_t ${symbol}[], ${symbol}_end[];\n")
      string(APPEND table "    {\"${name}\", {${symbol}, ${symbol}_end}},\n")
    endforeach()
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/shader_table.cpp)
  set(data ${CMAKE_BINARY_DIR}/generated/shader_data.S)
  file(CONFIGURE OUTPUT ${data} CONTENT
".section .rodata\n@bytes@.section .note.GNU-stack,\"\",%progbits\n" @ONLY)
  file(CONFIGURE OUTPUT ${source} CONTENT
"#include \"vk/shaders.h\"\n\nextern \"C\" {\n@externs@}\n\nnamespace lemnos::vk {\n
std::span<const Shader> shaders() {\n  static const Shader table[] = {\n@table@  };\n  return table;\n}\n}  // namespace lemnos::vk\n" @ONLY)
  set_source_files_properties(${data} PROPERTIES OBJECT_DEPENDS "${built}")
  set(${out} ${source} ${data} PARENT_SCOPE)
endfunction()
