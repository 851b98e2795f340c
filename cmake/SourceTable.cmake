# The table of the sources that decide numbers (src/proof/sources.h), made by a tool of ours that the
# build compiles first; an edit of any of them makes it anew.
function(lemnos_source_table out)
  add_executable(source_table ${CMAKE_SOURCE_DIR}/cmake/source_table/main.cpp
    ${CMAKE_SOURCE_DIR}/cmake/source_table/source_scan.cpp ${CMAKE_SOURCE_DIR}/src/base/sha256.cpp)
  target_link_libraries(source_table PRIVATE lemnos_options ${MD})
  set(source ${CMAKE_BINARY_DIR}/generated/source_table.cpp)
  file(GLOB_RECURSE scanned CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/src/*.h ${CMAKE_SOURCE_DIR}/src/*.cpp ${CMAKE_SOURCE_DIR}/src/*.comp ${CMAKE_SOURCE_DIR}/src/*.glsl)
  list(FILTER scanned INCLUDE REGEX "/src/(graph|runtime|ops|models|peft|train|base|data|io)/")
  add_custom_command(OUTPUT ${source}
    COMMAND source_table ${CMAKE_SOURCE_DIR} ${source}
    DEPENDS source_table ${scanned} ${CMAKE_SOURCE_DIR}/cmake/Shaders.cmake
    COMMENT "Table of sources" VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
