// SPDX-License-Identifier: Apache-2.0
// Which processors belong together, from sysfs.
#include <stdio.h>

#include "os/linux/errno_guard.hpp"
#include "os/linux/lines.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

// The files that list the processors of each kind of core, from the slowest kind.
constexpr const char* kCoreTypes[] = {"/sys/devices/cpu_atom/cpus", "/sys/devices/cpu_core/cpus"};

// Calls visit(number) for each processor of a list like "0-3,8". False if there is no such file.
template <typename Visit>
bool read_list(const char* path, Visit visit) {
  char line[4096];
  Lines lines(path);
  if (!lines.next(line, sizeof line)) return false;
  const char* p = line;
  const auto number = [&p] {
    unsigned n = 0;
    while (*p >= '0' && *p <= '9' && n < ProcessorSet::kMax) n = n * 10 + unsigned(*p++ - '0');
    return n;
  };
  while (*p >= '0' && *p <= '9') {
    const unsigned first = number();
    unsigned last = first;
    if (*p == '-') {
      ++p;
      last = number();
    }
    for (unsigned n = first; n <= last && n < ProcessorSet::kMax; ++n) visit(n);
    if (*p == ',') ++p;
  }
  return true;
}

void keep_list(ProcessorSet* set, const char* path) {
  ProcessorSet kept{};
  if (!read_list(path, [&](unsigned n) { kept.add(n); })) return;
  for (unsigned i = 0; i < ProcessorSet::kMax / ProcessorSet::kBits; ++i) {
    set->words[i] &= kept.words[i];
  }
}

// Keeps the first `threads_per_core` processors of each core that are in the set.
void keep_threads(ProcessorSet* set, unsigned threads_per_core) {
  char path[128];
  for (unsigned p = 0; p < ProcessorSet::kMax; ++p) {
    if (!set->has(p)) continue;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", p);
    unsigned earlier = 0;
    read_list(path, [&](unsigned sibling) { earlier += sibling < p && set->has(sibling); });
    if (earlier >= threads_per_core) set->remove(p);
  }
}

}  // namespace

bool get_processors(ProcessorSet* set) {
  ErrnoGuard guard;
  *set = {};
  return syscall(SYS_sched_getaffinity, 0, sizeof set->words, set->words) > 0;
}

void set_processors(const ProcessorSet& set) {
  ErrnoGuard guard;
  syscall(SYS_sched_setaffinity, 0, sizeof set.words, set.words);
}

unsigned read_memory_nodes(int* nodes, unsigned max) {
  ErrnoGuard guard;
  unsigned count = 0;
  read_list("/sys/devices/system/node/has_cpu", [&](unsigned n) {
    if (count < max) nodes[count++] = int(n);
  });
  return count;
}

unsigned count_core_types() {
  ErrnoGuard guard;
  for (const char* path : kCoreTypes) {
    if (!read_list(path, [](unsigned) {})) return 0;
  }
  return 2;
}

void keep_processors(ProcessorSet* set, int node, int core_type, int threads_per_core) {
  ErrnoGuard guard;
  char path[128];
  if (node >= 0) {
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    keep_list(set, path);
  }
  if (core_type == 0 || core_type == 1) keep_list(set, kCoreTypes[core_type]);
  if (threads_per_core > 0) keep_threads(set, unsigned(threads_per_core));
}

}  // namespace corbel::os
