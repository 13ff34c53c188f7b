# SPDX-License-Identifier: Apache-2.0
# The corbel command on Windows. It is linked statically with the compiler's libraries, so that it
# needs nothing but Windows.
#
# A cross build takes the three libraries that are headers alone from the machine that builds. Its
# other headers must not be found there, so these three are linked into a folder of their own.
set(headers "${CMAKE_CURRENT_BINARY_DIR}/headers")
foreach(header IN ITEMS CLI/CLI.hpp fmt/core.h nlohmann/json.hpp)
  string(MAKE_C_IDENTIFIER "CORBEL_HEADERS_${header}" variable)
  find_path(${variable} "${header}" PATHS /usr/local/include /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${variable})
    message(FATAL_ERROR "Corbel's command needs ${header}: install libcli11-dev, libfmt-dev and "
                        "nlohmann-json3-dev, or configure with -DCORBEL_BUILD_TOOLS=OFF")
  endif()
  get_filename_component(folder "${header}" DIRECTORY)
  file(MAKE_DIRECTORY "${headers}")
  file(CREATE_LINK "${${variable}}/${folder}" "${headers}/${folder}" SYMBOLIC)
endforeach()

add_executable(
  corbel_tool
  ${common}
  check/windows/check_program.cpp
  check/windows/running_program.cpp
  compare/windows/machine.cpp
  compare/windows/measure.cpp
  compare/windows/metrics.cpp
  compare/windows/output_file.cpp
  compare/windows/sides.cpp
  console/windows/console.cpp
  file/windows/write_file.cpp
  help/windows/texts.cpp
  program/windows/library.cpp
  program/windows/names.cpp
  program/windows/pe_image.cpp
  program/windows/program.cpp
  refused/windows/refused.cpp
  run/windows/add_import.cpp
  run/windows/limits.cpp
  run/windows/process_memory.cpp
  run/windows/run.cpp
  run/windows/start.cpp
  text/windows/wide.cpp)
# As on Linux, but apart from each other: windows.h has macros of many short names.
set_target_properties(corbel_tool PROPERTIES OUTPUT_NAME corbel UNITY_BUILD ${CORBEL_UNITY}
                                             UNITY_BUILD_MODE GROUP)
get_target_property(sources corbel_tool SOURCES)
foreach(source IN LISTS sources)
  if(source MATCHES "/windows/")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP windows)
  else()
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP common)
  endif()
endforeach()
# Nothing in it takes long enough to be worth the time of more.
target_compile_options(corbel_tool PRIVATE -O1)
target_include_directories(corbel_tool PRIVATE . "${PROJECT_SOURCE_DIR}/src")
target_include_directories(corbel_tool SYSTEM PRIVATE "${headers}")
target_compile_definitions(
  corbel_tool PRIVATE "CORBEL_VERSION=\"${PROJECT_VERSION}\"" FMT_HEADER_ONLY=1 NOMINMAX
                      WIN32_LEAN_AND_MEAN UNICODE _UNICODE)
target_link_options(corbel_tool PRIVATE -static)
target_link_libraries(corbel_tool PRIVATE shell32)
