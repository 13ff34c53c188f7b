# SPDX-License-Identifier: Apache-2.0
# Every option of the build, and the compile options that follow from them for all of Corbel's own
# targets. Nothing here touches the targets of a project that includes Corbel.

option(CORBEL_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(CORBEL_BUILD_SCHEDULER_TESTS "Build those of the scheduler, which take longest" ON)
option(CORBEL_FULL_TESTS "Add the tests of ./dev test --full" OFF)
option(CORBEL_TESTS_SINGLY "Make each GoogleTest a ctest and a process of its own" OFF)
option(CORBEL_BUILD_TOOLS "Build the corbel command" ${PROJECT_IS_TOP_LEVEL})
option(CORBEL_INSTALL "Add the install rules" ${PROJECT_IS_TOP_LEVEL})
option(CORBEL_WERROR "Turn warnings into errors" OFF)
option(CORBEL_UNITY "Compile each allocator library as one source, so that its hot paths inline" ON)
option(CORBEL_DEBUG_CHECKS "Check internal invariants at run time" OFF)
option(CORBEL_COVERAGE "Instrument for coverage" OFF)
option(CORBEL_BUILD_SHARED "Build the shared libraries. Without them there are no drop-in \
libraries, no corbel command and no files for pkg-config" ON)
option(CORBEL_BUILD_DROPIN "Build the drop-in libtbbmalloc.so.2 and libtbbmalloc_proxy.so.2" ON)
option(CORBEL_BUILD_TBB12 "Build libtbb.so.12, for programs that were compiled for oneTBB"
       ${PROJECT_IS_TOP_LEVEL})
set(CORBEL_PROGRAM_OPTIONS "-g1" CACHE STRING
    "Compile options of tools and tests, after all others: lines, but no variables, for debuggers")
set(CORBEL_TEST_OPTIONS "" CACHE STRING "Compile options of tests, after those")
set(CORBEL_SANITIZE "" CACHE STRING "Sanitizers to compile with, e.g. address,undefined or thread")

if(NOT CORBEL_BUILD_SHARED)
  set(CORBEL_BUILD_DROPIN OFF)
  set(CORBEL_BUILD_TBB12 OFF)
  set(CORBEL_BUILD_TOOLS OFF)
endif()

# A sanitizer brings a malloc of its own: there the tests call the scalable_* functions, and what
# would replace malloc is not built.
if(CORBEL_SANITIZE OR CORBEL_COVERAGE)
  set(proxy_default OFF)
else()
  set(proxy_default ON)
endif()
option(CORBEL_BUILD_PROXY "Build the libraries that replace malloc, which need glibc or Windows"
       ${proxy_default})
if(CORBEL_LIBC STREQUAL "musl")
  set(CORBEL_BUILD_PROXY OFF)
endif()

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "Corbel needs gcc >= 12 or clang >= 16, not ${CMAKE_CXX_COMPILER_ID}")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "Corbel needs gcc >= 12, found ${CMAKE_CXX_COMPILER_VERSION}: "
                      "set CMAKE_C_COMPILER and CMAKE_CXX_COMPILER, e.g. to gcc-12 and g++-12")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "Corbel needs clang >= 16, found ${CMAKE_CXX_COMPILER_VERSION}")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)

add_compile_options(-Wall -Wextra)
if(CORBEL_WERROR)
  add_compile_options(-Werror)
endif()

if(CORBEL_SANITIZE)
  add_compile_options(-fsanitize=${CORBEL_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CORBEL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc warns about every fence, whether or not it matters, and, without optimisation, of what it
    # does not follow.
    add_compile_options(-Wno-tsan -Wno-maybe-uninitialized)
  else()
    # As gcc says by itself.
    foreach(kind IN ITEMS ADDRESS THREAD)
      string(TOLOWER ${kind} name)
      if(CORBEL_SANITIZE MATCHES "${name}")
        add_compile_definitions(__SANITIZE_${kind}__=1)
      endif()
    endforeach()
  endif()
endif()

if(CORBEL_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
