# Every dependency is a Debian package; scripts/bootstrap installs them.
find_package(Threads REQUIRED)
find_package(Vulkan REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_program(GLSLC glslc REQUIRED)
find_program(SPIRV_VAL spirv-val REQUIRED)

# The static archive when LEMNOS_STATIC asks for it, else whatever the linker prefers.
function(lemnos_find_library out name)
  unset(${out} CACHE)  # the option may have changed since the last configuration
  if(LEMNOS_STATIC)
    find_library(${out} NAMES lib${name}.a ${name} REQUIRED)
  else()
    find_library(${out} NAMES ${name} REQUIRED)
  endif()
endfunction()

lemnos_find_library(ICU_I18N icui18n)
lemnos_find_library(ICU_UC icuuc)
lemnos_find_library(ICU_DATA icudata)
lemnos_find_library(PCRE2_8 pcre2-8)
lemnos_find_library(YAML_CPP yaml-cpp)
lemnos_find_library(MD md)

add_library(lemnos_dependencies INTERFACE)
target_link_libraries(lemnos_dependencies INTERFACE
  Vulkan::Headers ${YAML_CPP} ${PCRE2_8} ${ICU_I18N} ${ICU_UC} ${ICU_DATA} ${MD} Threads::Threads ${CMAKE_DL_LIBS})
# fmt and spdlog are compiled into one translation unit each (base/format.cpp, base/log.cpp): no shared library at run time.
get_target_property(LEMNOS_FMT_INCLUDE fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(lemnos_dependencies SYSTEM INTERFACE ${LEMNOS_FMT_INCLUDE})
target_compile_definitions(lemnos_dependencies INTERFACE PCRE2_CODE_UNIT_WIDTH=8)
