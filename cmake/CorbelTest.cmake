# SPDX-License-Identifier: Apache-2.0
# The tests' side of the build. Every folder of test/ with a CMakeLists.txt is added; a test carries
# the label of its folder, and finds the build through CORBEL_LIB_DIR and CORBEL_BIN_DIR.
find_package(Threads REQUIRED)
find_package(Python3 COMPONENTS Interpreter REQUIRED)

# What a cross build runs, under the emulator: that for ARM has no GoogleTest.
set(CORBEL_CROSS_TEST_FOLDERS smoke tbb12 unwind)
set(CORBEL_LEFT_OUT "")
set(CORBEL_HAS_GTEST ON)
set(CORBEL_GTEST_TIMEOUT 300) # seconds, of one test
if(WIN32)
  set(CORBEL_GTEST_TIMEOUT 60)
  include(GoogleTest)
  include(CorbelGoogleTest)
  include(CorbelTestWindows)
elseif(CORBEL_LIBC STREQUAL "musl")
  include(GoogleTest)
  include(CorbelGoogleTest)
  include(CorbelTestMusl)
elseif(CMAKE_CROSSCOMPILING)
  set(CORBEL_HAS_GTEST OFF)
else()
  include(GoogleTest)
  find_package(GTest REQUIRED)
endif()

# What the tests ask the system for.
include_directories("${PROJECT_SOURCE_DIR}/test/system")
if(WIN32)
  include_directories("${PROJECT_SOURCE_DIR}/test/system/windows")
else()
  include_directories("${PROJECT_SOURCE_DIR}/test/system/linux")
endif()

# The libraries that tests link.
set(CORBEL_ALLOCATOR Corbel::corbelmalloc)
set(CORBEL_SCHEDULER Corbel::corbel)
if(NOT CORBEL_BUILD_SHARED)
  set(CORBEL_ALLOCATOR Corbel::corbelmalloc_static)
endif()
# With the compiler's libraries in each program, corbel.dll would have C++ libraries of its own.
if(WIN32 OR NOT CORBEL_BUILD_SHARED)
  set(CORBEL_SCHEDULER Corbel::corbel_static)
endif()

# Clang's precompiled headers hold the path of their build folder. ccache takes the checksum beside
# them instead, and makes the path after -include-pch relative, but not the one after -include, which
# CMake adds and clang does not need.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_LAUNCHER)
  set(CORBEL_PCH_CHECKSUM "${PROJECT_SOURCE_DIR}/cmake/precompile_with_checksum.sh")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

# What nearly every test includes, compiled once for all programs of corbel_add_gtest, and once more
# for those without optimisation: a compiler takes no precompiled headers of the other kind.
function(corbel_add_test_headers target)
  set(source "${PROJECT_BINARY_DIR}/generated/${target}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Its headers are what matters.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_compile_options(${target} PRIVATE ${ARGN})
  # <tbb/...> too, because libstdc++ looks whether it is there.
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE GTest::gtest Threads::Threads)
  target_precompile_headers(
    ${target}
    PRIVATE <gtest/gtest.h> <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque>
            <functional> <map> <memory> <mutex> <random> <stdexcept> <string> <thread> <vector>)
  # The checksum knows no options: macros that only the target has would be missed.
  if(CORBEL_PCH_CHECKSUM)
    set_target_properties(
      ${target} PROPERTIES CXX_COMPILER_LAUNCHER
                           "${CORBEL_PCH_CHECKSUM};${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()
if(CORBEL_HAS_GTEST)
  corbel_add_test_headers(corbel_test_headers)
  if(CORBEL_BUILD_SCHEDULER_TESTS AND NOT CORBEL_SANITIZE)
    corbel_add_test_headers(corbel_test_headers_unoptimised -O0)
  endif()
endif()

set(CORBEL_TEST_ENVIRONMENT
    ${CORBEL_WINE_ENVIRONMENT}
    "CORBEL_LIB_DIR=${CMAKE_BINARY_DIR}/lib" "CORBEL_BIN_DIR=${CMAKE_BINARY_DIR}/bin"
    "CORBEL_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "CORBEL_BUILD_DIR=${CMAKE_BINARY_DIR}")

# Where the reports of sanitizers go: a file for each process that made one.
set(CORBEL_REPORTS "${CMAKE_BINARY_DIR}/reports")

# The folders whose tests need a process with its own malloc replaced, or an uninstrumented build.
set(CORBEL_PROXY_TEST_FOLDERS container profile proxy life programs cli packaging golden smoke bench)

# Every test is started by test/runner/run.py where it keeps something that ctest would lose: the
# reports of a sanitizer, the single tests of a GoogleTest program, and the children of a program in
# Wine.
set(CORBEL_TEST_RUNNER "${PROJECT_SOURCE_DIR}/test/runner/run.py")

# Sets <result> to the words before a test's command: nothing where there is nothing to keep.
function(corbel_keep result name seconds)
  set(${result} "" PARENT_SCOPE)
  if(CORBEL_SANITIZE)
    set(${result} ${Python3_EXECUTABLE} -B "${CORBEL_TEST_RUNNER}" --name "${name}" --reports
                  "${CORBEL_REPORTS}" -- PARENT_SCOPE)
  elseif(WIN32)
    set(${result} ${Python3_EXECUTABLE} -B "${CORBEL_TEST_RUNNER}" --wine --seconds ${seconds} --
                  PARENT_SCOPE)
  endif()
endfunction()

# Sets <result> to whether this build leaves the test out: it is of CORBEL_LEFT_OUT, or of
# CORBEL_SELECT_FROM and not of CORBEL_SELECTED.
function(corbel_is_left_out result name)
  foreach(list IN ITEMS LEFT_OUT SELECT_FROM SELECTED)
    set(in_${list} OFF)
    foreach(pattern IN LISTS CORBEL_${list})
      if(name MATCHES "^(${pattern})$")
        set(in_${list} ON)
      endif()
    endforeach()
  endforeach()
  set(${result} OFF PARENT_SCOPE)
  if(in_LEFT_OUT OR (in_SELECT_FROM AND NOT in_SELECTED))
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# corbel_add_gtest(<name> LABEL <label> SOURCES <files> [LIBS <libraries>] [DEFINES ...]
#                  [TIMEOUT <seconds>] [ENVIRONMENT <A=b> ...] [COST <seconds>] [EACH]
#                  [ONE_THREAD <patterns>] [UNOPTIMISED])
# One GoogleTest program. It is one ctest, <label>.<name>, that runs all tests in one process and
# counts each. With CORBEL_TESTS_SINGLY each test is a ctest and a process of its own. With EACH each
# is a process of its own, but they are one ctest. TIMEOUT is that of one test.
# ONE_THREAD names long tests that start no thread: the thread sanitizer could find nothing in them.
function(corbel_add_gtest name)
  cmake_parse_arguments(arg "EACH;UNOPTIMISED" "LABEL;TIMEOUT;COST"
                        "SOURCES;LIBS;DEFINES;ENVIRONMENT;ONE_THREAD" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${CORBEL_GTEST_TIMEOUT})
  endif()
  corbel_is_left_out(left_out "${arg_LABEL}.${name}")
  if(left_out)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(
    ${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                    "${PROJECT_BINARY_DIR}/generated")
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest GTest::gtest_main Threads::Threads)
  if(arg_UNOPTIMISED)
    # gcc warns of what it does not follow without optimisation.
    target_compile_options(${name} PRIVATE -O0 $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_precompile_headers(${name} REUSE_FROM corbel_test_headers_unoptimised)
  else()
    target_precompile_headers(${name} REUSE_FROM corbel_test_headers)
  endif()
  set(environment "${CORBEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
  if(CORBEL_TESTS_SINGLY)
    # Not as the property ENVIRONMENT, of which gtest_discover_tests() keeps the first variable only.
    # Without policy CMP0158, the emulator is used in native builds, too.
    set(launcher "${CMAKE_COMMAND}" -E env ${environment} ${CMAKE_CROSSCOMPILING_EMULATOR})
    set_target_properties(${name} PROPERTIES CROSSCOMPILING_EMULATOR "${launcher}")
    gtest_discover_tests(
      ${name}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 180 # the first one makes Wine's prefix
      TEST_PREFIX "${arg_LABEL}."
      PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT} FIXTURES_REQUIRED
                 "${CORBEL_TEST_FIXTURES}")
    return()
  endif()
  set(keep "")
  if(CORBEL_SANITIZE)
    set(keep --reports "${CORBEL_REPORTS}")
  endif()
  if(arg_EACH)
    list(APPEND keep --each)
  endif()
  if(CORBEL_SANITIZE MATCHES "thread" AND arg_ONE_THREAD)
    list(JOIN arg_ONE_THREAD ":" patterns)
    list(APPEND keep --without "${patterns}")
  endif()
  if(WIN32)
    list(APPEND keep --wine)
  endif()
  add_test(NAME "${arg_LABEL}.${name}"
           COMMAND "${Python3_EXECUTABLE}" -B "${CORBEL_TEST_RUNNER}" --gtest --name
                   "${arg_LABEL}.${name}" --seconds ${arg_TIMEOUT} ${keep} --
                   ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
  set_tests_properties(
    "${arg_LABEL}.${name}" PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 1500 SKIP_RETURN_CODE 77
                                      ENVIRONMENT "${environment}" FIXTURES_REQUIRED
                                      "${CORBEL_TEST_FIXTURES}")
  if(arg_COST)
    set_tests_properties("${arg_LABEL}.${name}" PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# corbel_add_script_test(<name> LABEL <label> COMMAND <command> [args] [TIMEOUT <seconds>]
#                        [ENVIRONMENT <A=b> ...] [COST <seconds>]): a test that is a script or a
# plain program. Exit code 77 means skipped. COST: about how long it takes, said of the longest, so
# that ctest begins with them.
function(corbel_add_script_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT;COST" "COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  corbel_is_left_out(left_out "${name}")
  if(left_out)
    return()
  endif()
  corbel_keep(keep "${name}" ${arg_TIMEOUT})
  if(keep)
    list(POP_FRONT arg_COMMAND program)
    if(TARGET ${program})
      set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${program}>)
    endif()
    list(PREPEND arg_COMMAND ${keep} ${program})
  endif()
  add_test(NAME "${name}" COMMAND ${arg_COMMAND})
  set_tests_properties(
    "${name}"
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
               ENVIRONMENT "${CORBEL_TEST_ENVIRONMENT};${arg_ENVIRONMENT}"
               FIXTURES_REQUIRED "${CORBEL_TEST_FIXTURES}")
  if(arg_COST)
    set_tests_properties("${name}" PROPERTIES COST ${arg_COST})
  endif()
endfunction()

# Each folder has a target tests_<folder>: the libraries, the scheduler's only if it is tested, and
# the programs of its tests.
function(corbel_add_test_folders)
  set(libraries "")
  set(folders src)
  if(CORBEL_BUILD_SCHEDULER_TESTS)
    list(APPEND folders src/sched)
    if(CORBEL_BUILD_TBB12)
      list(APPEND folders src/tbb12)
    endif()
  endif()
  foreach(folder IN LISTS folders)
    get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND libraries ${targets})
  endforeach()
  file(GLOB lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/*/CMakeLists.txt")
  foreach(list IN LISTS lists)
    get_filename_component(folder "${list}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    if(NOT TARGET corbelmalloc_proxy AND name IN_LIST CORBEL_PROXY_TEST_FOLDERS)
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
