// SPDX-License-Identifier: Apache-2.0
// Not a test: prints how long a captured stack takes, beside glibc's backtrace() and libgcc. Run it
// by hand on a quiet machine: build/release/bin/unwind_speed [DEPTH].
#include <execinfo.h>
#include <time.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "unwind/unwind.hpp"

namespace {

constexpr int kMax = 256;
using Capture = int (*)(void**);

int by_corbel(void** frames) { return int(corbel::unwind::capture(frames, kMax, 0)); }

int by_glibc(void** frames) { return backtrace(frames, kMax); }

struct List {
  void** frames;
  int count;
};

int by_libgcc(void** frames) {
  List list{frames, 0};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        auto& to = *static_cast<List*>(argument);
        if (to.count == kMax) return _URC_END_OF_STACK;
        to.frames[to.count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
        return _URC_NO_REASON;
      },
      &list);
  return list.count;
}

void measure(const char* name, Capture capture) {
  void* frames[kMax];
  const int count = capture(frames);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    constexpr int kCalls = 2000;
    timespec begin{}, end{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < kCalls; ++i) {
      capture(frames);
      asm volatile("" : : : "memory");
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double ns = double(end.tv_sec - begin.tv_sec) * 1e9 + double(end.tv_nsec - begin.tv_nsec);
    best = std::min(best, ns / kCalls);
  }
  std::printf("  %-18s %3d frames  %8.0f ns  %6.1f ns a frame\n", name, count, best, best / count);
}

__attribute__((noinline)) void at_depth(int depth, int max_depth) {
  if (depth < max_depth) {
    at_depth(depth + 1, max_depth);
  } else {
    measure("corbel", by_corbel);
    measure("glibc backtrace()", by_glibc);
    measure("libgcc", by_libgcc);
  }
  asm volatile("" : : : "memory");
}

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc > 1 ? std::atoi(argv[1]) : 16;
  std::printf("main thread\n");
  at_depth(1, depth);
  std::printf("another thread\n");
  std::thread([depth] { at_depth(1, depth); }).join();
}
