// SPDX-License-Identifier: Apache-2.0
// What the tests ask the system for: here Windows, in the folder beside this one Linux.
#pragma once

#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX  // libstdc++ has done so
#define NOMINMAX
#endif
#include <windows.h>
// After windows.h, which it needs.
#include <malloc.h>
#include <psapi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace test {

// Whether the system moves the pages of a block that grows.
inline constexpr bool kMovesPages = false;
// Whether the system tells that a thread sleeps, so that its heap can be taken over.
inline constexpr bool kWatchesThreads = false;
// Whether the end of a thread may wait for other threads.
inline constexpr bool kEndsOfThreadsMayWait = false;
// Whether an exception that leaves a callback of the allocator calls the terminate handler. Else it
// ends the process as abort() does.
inline constexpr bool kTerminatesOutOfC = false;

struct ProcessMemory {
  std::size_t mapped;  // bytes, both; here all that is reserved
  std::size_t resident;
};

inline std::size_t page_size() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

inline ProcessMemory process_memory() {
  ProcessMemory memory{};
  MEMORY_BASIC_INFORMATION area;
  for (std::uintptr_t at = 0;
       VirtualQuery(reinterpret_cast<const void*>(at), &area, sizeof area) != 0;
       at += area.RegionSize) {
    if (area.State != MEM_FREE) memory.mapped += area.RegionSize;
  }
  PROCESS_MEMORY_COUNTERS counters{};
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) std::abort();
  memory.resident = counters.WorkingSetSize;
  return memory;
}

inline std::size_t own_stack_size() {
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  return high - low;
}

// nullptr if there is no memory.
inline void* aligned_block(std::size_t alignment, std::size_t size) {
  return _aligned_malloc(size, alignment);
}
inline void free_aligned(void* block) { _aligned_free(block); }

// How many processors the calling thread may use; 0: not known.
inline int own_processors() {
  GROUP_AFFINITY own{};
  if (!GetThreadGroupAffinity(GetCurrentThread(), &own)) return 0;
  return __builtin_popcountll(own.Mask);
}

// Leaves this process one processor; returns whether that was possible. To be called in its main
// thread before there is another.
inline bool keep_one_processor() {
  DWORD_PTR own = 0, system = 0;
  return GetProcessAffinityMask(GetCurrentProcess(), &own, &system) &&
         SetProcessAffinityMask(GetCurrentProcess(), own & (0 - own));
}

// Runs this program with one argument, and returns what it has printed.
inline std::string output_of_this_program(const char* argument) {
  char path[MAX_PATH];
  GetModuleFileNameA(nullptr, path, sizeof path);
  std::FILE* const pipe = _popen((std::string(path) + ' ' + argument).c_str(), "r");
  if (pipe == nullptr) return "";
  char text[200] = "";
  const std::size_t length = std::fread(text, 1, sizeof text - 1, pipe);
  _pclose(pipe);
  return std::string(text, length);
}

// Lets other threads run for a while. The system sleeps for whole milliseconds, or not at all.
inline void pass_time(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

// Runs `body` in a thread with a stack of that size, and waits for its end.
class ThreadWithStack {
 public:
  ThreadWithStack(std::size_t bytes, std::function<void()> body) : body_(std::move(body)) {
    thread_ = CreateThread(nullptr, bytes, &call, this, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    if (thread_ == nullptr) std::abort();
  }
  ~ThreadWithStack() {
    WaitForSingleObject(thread_, INFINITE);
    CloseHandle(thread_);
  }
  ThreadWithStack(const ThreadWithStack&) = delete;
  ThreadWithStack& operator=(const ThreadWithStack&) = delete;

 private:
  static DWORD WINAPI call(void* self) {
    static_cast<ThreadWithStack*>(self)->body_();
    return 0;
  }

  const std::function<void()> body_;
  HANDLE thread_;
};

}  // namespace test
