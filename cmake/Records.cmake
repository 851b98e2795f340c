# Embeds the records of qualification/<device>/<surface>.<stage>.json (src/proof/records.h), without
# what only people read. A file that is not JSON is embedded as it is: the tests say so, the build goes on.
function(lemnos_embed_records out)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/qualification/*/*.json)
  set(rows "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    foreach(key evidence bundles)
      string(JSON without ERROR_VARIABLE problem REMOVE "${text}" ${key})
      if(NOT problem)
        set(text "${without}")
      endif()
    endforeach()
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${file})
    string(APPEND rows "      {\"${name}\", R\"record(${text})record\"},\n")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/generated/record_table.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT
"#include \"proof/records.h\"\n\nnamespace lemnos::proof {\n\nstd::vector<RecordText> record_texts() {
  return {\n@rows@  };\n}\n\n}  // namespace lemnos::proof\n" @ONLY)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
