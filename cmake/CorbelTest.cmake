# SPDX-License-Identifier: Apache-2.0
# The tests' side of the build. Every folder of test/ with a CMakeLists.txt is added; a test carries
# the label of its folder, and finds the build through CORBEL_LIB_DIR and CORBEL_BIN_DIR.
find_package(Threads REQUIRED)
if(NOT CMAKE_CROSSCOMPILING)
  include(GoogleTest)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  find_package(GTest REQUIRED)
endif()

# What nearly every test includes, compiled once for all programs of corbel_add_gtest.
if(NOT CMAKE_CROSSCOMPILING)
  set(source "${PROJECT_BINARY_DIR}/generated/test_headers.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Its headers are what matters.\n")
  add_library(corbel_test_headers OBJECT "${source}")
  # <tbb/...> too, because libstdc++ looks whether it is there.
  target_include_directories(corbel_test_headers PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(corbel_test_headers PRIVATE GTest::gtest Threads::Threads)
  target_precompile_headers(
    corbel_test_headers
    PRIVATE <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque>
            <functional> <map> <memory> <mutex> <random> <stdexcept> <string> <thread> <vector>)
endif()

set(CORBEL_TEST_ENVIRONMENT
    "CORBEL_LIB_DIR=${CMAKE_BINARY_DIR}/lib" "CORBEL_BIN_DIR=${CMAKE_BINARY_DIR}/bin"
    "CORBEL_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "CORBEL_BUILD_DIR=${CMAKE_BINARY_DIR}")

# The folders whose tests need a process with its own malloc replaced, or an uninstrumented build.
set(CORBEL_PROXY_TEST_FOLDERS container proxy life programs cli packaging golden smoke bench)

# What a cross build runs, under the emulator: it has no GoogleTest.
set(CORBEL_CROSS_TEST_FOLDERS smoke)

# corbel_add_gtest(<name> LABEL <label> SOURCES <files> [LIBS <libraries>] [DEFINES ...]
#                  [TIMEOUT <seconds>] [ENVIRONMENT <A=b> ...])
# One GoogleTest program; each of its tests becomes a ctest of its own.
function(corbel_add_gtest name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBS;DEFINES;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(
    ${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                    "${PROJECT_BINARY_DIR}/generated")
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main Threads::Threads)
  target_precompile_headers(${name} REUSE_FROM corbel_test_headers)
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${arg_LABEL}."
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT}
               ENVIRONMENT "${CORBEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

# corbel_add_script_test(<name> LABEL <label> COMMAND <command> [args] [TIMEOUT <seconds>]
#                        [ENVIRONMENT <A=b> ...]): a test that is a script or a plain program.
# Exit code 77 means skipped.
function(corbel_add_script_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  add_test(NAME "${name}" COMMAND ${arg_COMMAND})
  set_tests_properties(
    "${name}"
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
               ENVIRONMENT "${CORBEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()

# Each folder has a target tests_<folder>: the libraries, and the programs of its tests.
function(corbel_add_test_folders)
  set(libraries "")
  foreach(folder IN ITEMS src src/sched)
    get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND libraries ${targets})
  endforeach()
  file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/*/CMakeLists.txt")
  foreach(list IN LISTS lists)
    get_filename_component(folder "${list}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    if(NOT CORBEL_BUILD_PROXY AND name IN_LIST CORBEL_PROXY_TEST_FOLDERS)
      continue()
    endif()
    if(CMAKE_CROSSCOMPILING AND NOT name IN_LIST CORBEL_CROSS_TEST_FOLDERS)
      continue()
    endif()
    add_subdirectory("${folder}" "${PROJECT_BINARY_DIR}/test/${name}")
    get_property(programs DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    add_custom_target(tests_${name})
    add_dependencies(tests_${name} ${libraries} ${programs})
  endforeach()
endfunction()
