// SPDX-License-Identifier: Apache-2.0
// For the programs of this folder. They are compiled with oneTBB's headers, of any version since
// 2021.5, and run on its library and on Corbel's libtbb.so.12. What they print is the same on both.
#pragma once

// What a later version has by default is a preview in an earlier one.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#define TBB_PREVIEW_ISOLATED_TASK_GROUP 1
#define TBB_PREVIEW_MUTEXES 1
#define TBB_PREVIEW_COLLABORATIVE_CALL_ONCE 1
#define TBB_PREVIEW_WAITING_FOR_WORKERS 1
#define TBB_PREVIEW_CONCURRENT_LRU_CACHE 1
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#define TBB_PREVIEW_FLOW_GRAPH_TRY_PUT_AND_WAIT 1
#define TBB_PREVIEW_MEMORY_POOL 1
#define TBB_PREVIEW_NUMA_ALLOCATION 1
#include <tbb/tbb.h>
// Not all versions of tbb.h have these.
#include <oneapi/tbb/collaborative_call_once.h>
#include <oneapi/tbb/memory_pool.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// Since a version of the headers, as TBB_INTERFACE_VERSION counts.
#define SINCE_2021_6 (TBB_INTERFACE_VERSION >= 12060)
#define SINCE_2022_0 (TBB_INTERFACE_VERSION >= 12140)
#define SINCE_2022_3 (TBB_INTERFACE_VERSION >= 12170)
#define SINCE_2023_0 (TBB_INTERFACE_VERSION >= 12180)
#define SINCE_2023_1 (TBB_INTERFACE_VERSION >= 12190)
#define SINCE_2023_2 (TBB_INTERFACE_VERSION >= 12200)

inline void say(const char* what, long value) {
  std::printf("%s: %ld\n", what, value);
  std::fflush(stdout);
}

inline void nap(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

template <typename Condition>
void wait_for(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}
