# Tables of what the sources define, so that adding a file lists it and nothing else is edited:
#   families  src/models/*.cpp  `const Family kFamily_<name>`
#   ops       src/ops/**.cpp    `const OpDef k<Name>Op`
#   commands  src/cli/*.cpp     `const Command kCommand_<name>`
function(lemnos_generate_table out glob type symbol_regex header scope function)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${glob})
  set(externs "")
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^const ${type} ${symbol_regex}")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^const ${type} (${symbol_regex}).*" "\\1" symbol "${line}")
      string(APPEND externs "extern const ${type} ${symbol};\n")
      string(APPEND rows "&${symbol}, ")
    endforeach()
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/${function}_table.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
"#include \"${header}\"\n\nnamespace ${scope} {\n@externs@
std::span<const ${type}* const> ${function}() {\n  static const ${type}* const table[] = {@rows@};\n  return table;\n}\n}  // namespace ${scope}\n" @ONLY)
  set(${out} ${${out}} ${source} PARENT_SCOPE)
endfunction()

macro(lemnos_generate_tables out)
  lemnos_generate_table(${out} ${CMAKE_SOURCE_DIR}/src/models/*.cpp Family "kFamily_[a-z0-9_]+" models/model.h lemnos families)
  lemnos_generate_table(${out} ${CMAKE_SOURCE_DIR}/src/ops/*.cpp OpDef "k[A-Za-z0-9]+Op" graph/op.h lemnos all_ops)
  lemnos_generate_table(${out} ${CMAKE_SOURCE_DIR}/src/cli/*.cpp Command "kCommand_[a-z]+" cli/command.h lemnos::cli commands)
endmacro()
