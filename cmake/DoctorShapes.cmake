# Embeds src/doctor/shapes/*.json (src/doctor/default_shapes.h).
function(lemnos_embed_doctor_shapes out)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/doctor/shapes/*.json)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${file})
    string(APPEND rows "      {\"${name}\", R\"shape(${text})shape\"},\n")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/doctor_shapes.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
"#include \"doctor/default_shapes.h\"\n\nnamespace lemnos::doctor {\n\nstd::vector<DefaultShape> default_shapes() {
  return {\n@rows@  };\n}\n\n}  // namespace lemnos::doctor\n" @ONLY)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
