# SPDX-License-Identifier: Apache-2.0
# What tests need that run on another C library than that of this machine: GoogleTest from its sources,
# and headers that any system can use.

# The sources of Debian's package googletest, which libgtest-dev brings.
set(CORBEL_GTEST_SOURCES /usr/src/googletest/googletest CACHE PATH "The sources of GoogleTest")
if(NOT EXISTS "${CORBEL_GTEST_SOURCES}/src/gtest-all.cc")
  message(FATAL_ERROR "Corbel: no GoogleTest in ${CORBEL_GTEST_SOURCES}: install the package "
                      "googletest, or set CORBEL_GTEST_SOURCES")
endif()
foreach(part IN ITEMS gtest gtest_main)
  set(source gtest-all)
  if(part STREQUAL "gtest_main")
    set(source gtest_main)
  endif()
  add_library(corbel_${part} STATIC "${CORBEL_GTEST_SOURCES}/src/${source}.cc")
  target_include_directories(corbel_${part} SYSTEM PUBLIC "${CORBEL_GTEST_SOURCES}/include")
  target_include_directories(corbel_${part} PRIVATE "${CORBEL_GTEST_SOURCES}")
  # Without inlining there are six times as many symbols, and GNU ld takes two seconds for a program.
  target_compile_options(corbel_${part} PRIVATE -w -O1 -g0)
  add_library(GTest::${part} ALIAS corbel_${part})
endforeach()
target_link_libraries(corbel_gtest PUBLIC Threads::Threads)

# Headers of this machine that any system can use, and none of its others.
set(portable_headers "${PROJECT_BINARY_DIR}/portable_headers")
find_path(CORBEL_NLOHMANN_JSON nlohmann/json.hpp PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH
          NO_DEFAULT_PATH REQUIRED)
file(MAKE_DIRECTORY "${portable_headers}")
file(CREATE_LINK "${CORBEL_NLOHMANN_JSON}/nlohmann" "${portable_headers}/nlohmann" SYMBOLIC)
add_library(corbel_nlohmann_json INTERFACE)
target_include_directories(corbel_nlohmann_json SYSTEM INTERFACE "${portable_headers}")
add_library(nlohmann_json::nlohmann_json ALIAS corbel_nlohmann_json)
