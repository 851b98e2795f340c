# Compiles every src/**/*.comp to SPIR-V and embeds it.
#
# A shader is built once as `<stem>`, or once per line of the form
#   //! variant <suffix> <glslc flags...>
# as `<stem>.<suffix>`. A line `//! requires <text>` documents optional features and is not read here.
function(lemnos_embed_shaders out)
  file(GLOB_RECURSE shaders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.comp)
  file(GLOB_RECURSE includes CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.glsl ${CMAKE_SOURCE_DIR}/src/*.params.h)
  set(dir ${CMAKE_BINARY_DIR}/generated/spv)
  file(MAKE_DIRECTORY ${dir})
  set(table "")
  set(externs "")
  set(built "")
  foreach(shader IN LISTS shaders)
    get_filename_component(stem ${shader} NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shader})
    file(STRINGS ${shader} variants REGEX "^//! variant ")
    if(NOT variants)
      set(variants "//! variant -")
    endif()
    foreach(line IN LISTS variants)
      string(REGEX REPLACE "^//! variant +" "" line "${line}")
      separate_arguments(words UNIX_COMMAND "${line}")
      list(POP_FRONT words suffix)
      set(name ${stem})
      if(NOT suffix STREQUAL "-")
        set(name ${stem}.${suffix})
      endif()
      set(inc ${dir}/${name}.inc)
      add_custom_command(OUTPUT ${inc}
        COMMAND ${GLSLC} --target-env=vulkan1.2 -O -Werror ${words} -I ${CMAKE_SOURCE_DIR}/src -o ${inc}.spv ${shader}
        COMMAND ${SPIRV_VAL} --target-env vulkan1.2 --scalar-block-layout ${inc}.spv
        COMMAND ${CMAKE_COMMAND} -DIN=${inc}.spv -DOUT=${inc} -P ${CMAKE_SOURCE_DIR}/cmake/EmbedWords.cmake
        DEPENDS ${shader} ${includes} ${CMAKE_SOURCE_DIR}/cmake/EmbedWords.cmake
        COMMENT "Shader ${name}" VERBATIM)
      list(APPEND built ${inc})
      string(MAKE_C_IDENTIFIER ${name} symbol)
      string(APPEND externs "const uint32_t ${symbol}[] = {\n#include \"spv/${name}.inc\"\n};\n")
      string(APPEND table "    {\"${name}\", {${symbol}, sizeof ${symbol} / 4}},\n")
    endforeach()
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/shader_table.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
"#include \"vk/shaders.h\"\n\nnamespace lemnos::vk {\nnamespace {\n@externs@}  // namespace\n
std::span<const Shader> shaders() {\n  static const Shader table[] = {\n@table@  };\n  return table;\n}\n}  // namespace lemnos::vk\n" @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${built}")
  set(${out} ${source} PARENT_SCOPE)
endfunction()
