# SPDX-License-Identifier: Apache-2.0
# What the tests of a cross build for Windows need: a Wine of their own, and the list of what is left
# out.

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fsized-deallocation) # as for the libraries, whose headers the tests use
endif()

# The compiler's libraries are linked into each program: Wine would have to be told where they are.
add_link_options(-static)
# Whether a test passes is all that is asked.
add_compile_options(-g0)

# Wine's server lives from before the first test until after the last: a program starts in 20 to 50
# ms then, and in 600 without. Its prefix is this build's own, so that no other's programs are ended
# with it. The server ends itself a while after the last program, should ctest be killed.
# A crash writes no report of winedbg's, which would take 3 s; the drivers of buses would look for
# devices all the time.
set(CORBEL_WINE_ENVIRONMENT
    "WINEPREFIX=${PROJECT_BINARY_DIR}/wine" "WINEDEBUG=-all" "WINEARCH=win64"
    "WINEDLLOVERRIDES=winedbg.exe,mscoree,mshtml,winemenubuilder.exe,winebus.sys,wineusb.sys=d")
foreach(step IN ITEMS start stop)
  add_test(NAME wine.${step} COMMAND sh "${PROJECT_SOURCE_DIR}/test/runner/wine.sh" ${step})
  set_tests_properties(wine.${step} PROPERTIES LABELS wine TIMEOUT 180 ENVIRONMENT
                                               "${CORBEL_WINE_ENVIRONMENT}")
endforeach()
set_tests_properties(wine.start PROPERTIES FIXTURES_SETUP wine)
set_tests_properties(wine.stop PROPERTIES FIXTURES_CLEANUP wine)
set(CORBEL_TEST_FIXTURES wine)

# Folders that are tested on Windows. The others need Linux: fork, signals, /proc, cgroups, GDB,
# LD_PRELOAD, or programs of this machine.
set(CORBEL_CROSS_TEST_FOLDERS windows unit api stress sched flow containers packaging)

# Tests of those folders that are left out: regular expressions.
set(CORBEL_LEFT_OUT
    "unit.unit_fork_inside" # there is no fork
    "unit.unit_container" # reads the files of cgroups
    "unit.unit_stopped_threads" # threads are not stopped
    "unit.unit_time_profile" # there are no signals
    "unit.unit_idle_heaps" # the state of another thread is not to be had
    "unit.unit_control" # by signals and sockets
    "unit.unit_lock_fork" "unit.unit_sampling_fork" "unit.unit_resting_heaps_fork" # fork
    "unit.unit_resting_heaps" # no heap rests
    "unit.unit_process_barrier" # filters system calls
    "api.headers") # with compilers of its own: as in the release build

# What is left out without CORBEL_FULL_TESTS. Each compiler runs what only it can show: programs with
# the replacement, exceptions, fibers, the ends of threads, libraries and processes. The other tests
# are shared out, the allocator's to gcc and the scheduler's to clang, and what asks nothing of the
# system is left to Linux, where the same source is tested.
set(CORBEL_SELECT_FROM "")
if(NOT CORBEL_FULL_TESTS)
  set(CORBEL_SELECT_FROM "sched[.].*" "flow[.].*" "containers[.].*" "unit[.]unit_sampling")
  set(CORBEL_SELECTED "sched[.]sched_(context|suspend|task_group)")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND CORBEL_SELECTED "sched[.]sched_(life|mutexes|stack)"
         "containers[.]containers_concurrent_queue_threads")
  else()
    list(APPEND CORBEL_SELECT_FROM "stress[.].*" "windows[.]soft-limit-.*" "packaging")
    list(
      APPEND CORBEL_SELECTED
      "sched[.]sched_(arena|classic_threads|constraints|control|covered_time|epoch|floating_point)"
      "sched[.]sched_(observer|once|pipeline|pool|thread_specific)"
      "flow[.]flow_(failures|graph)"
      "stress[.](mixed|limits|task_graph)")
  endif()
endif()
