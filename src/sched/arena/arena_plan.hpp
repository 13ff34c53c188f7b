// SPDX-License-Identifier: Apache-2.0
// The settings that the program requests for an arena.
#pragma once

namespace corbel::sched {

struct ArenaPlan {
  unsigned width = 1;     // the maximum number of threads
  unsigned reserved = 1;  // slots that workers do not take
  int priority = 0;       // the higher, the earlier it gets workers
  int numa_node = -1;     // -1: any
  int core_type = -1;
  int threads_per_core = -1;
};

}  // namespace corbel::sched
