// SPDX-License-Identifier: Apache-2.0
// The frame of the lab's kernels (bench/kernels/harness.hpp) on Windows: one run, one line with the
// kernel's figure and checksum and the peaks of the process.
#include "harness.hpp"

#include <windows.h>
// After windows.h.
#include <psapi.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace bench {

namespace {

[[noreturn]] void usage_error(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), what.c_str());
  std::_Exit(2);
}

}  // namespace

Arguments::Arguments(int count, char** values) {
  for (int i = 1; i < count; ++i) {
    const char* equals = std::strchr(values[i], '=');
    if (!equals) usage_error(std::string("'") + values[i] + "' is not of the form name=value");
    values_[std::string(values[i], static_cast<std::size_t>(equals - values[i]))] = equals + 1;
  }
  threads_ = static_cast<unsigned>(number("threads", 1));
}

std::uint64_t Arguments::number(const std::string& name, std::uint64_t fallback) {
  asked_[name] = true;
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : std::strtoull(found->second.c_str(), nullptr, 10);
}

std::string Arguments::text(const std::string& name, const std::string& fallback) {
  asked_[name] = true;
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

std::string Arguments::unknown() const {
  for (const auto& [name, value] : values_) {
    if (!asked_.count(name)) return name;
  }
  return {};
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void leave_out(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::_Exit(77);
}

void wrong(const char* what) {
  std::fprintf(stderr, "%s: wrong result: %s\n", kernel.name.c_str(), what);
  std::_Exit(1);
}

unsigned usable_cores() {
  DWORD_PTR mine = 0, all = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
  return static_cast<unsigned>(__builtin_popcountll(mine));
}

// Threads stay where the system puts them.
void pin(unsigned, unsigned) {}

double in_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ready.fetch_add(1, std::memory_order_release);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      body(i);
    });
  }
  while (ready.load(std::memory_order_acquire) != count) std::this_thread::yield();
  const double begin = now();
  go.store(true, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  return now() - begin;
}

}  // namespace bench

int main(int count, char** words) {
  bench::Arguments arguments(count, words);
  bench::Result result;
  bench::kernel.run(arguments, result);
  if (const std::string unknown = arguments.unknown(); !unknown.empty()) {
    bench::usage_error("there is no argument '" + unknown + "'");
  }
  PROCESS_MEMORY_COUNTERS memory{};
  K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
  std::printf("{\"value\": %.9g, \"checksum\": %" PRIu64
              ", \"peak_working_set\": %zu, \"peak_commit\": %zu}\n",
              result.value, result.checksum, std::size_t{memory.PeakWorkingSetSize},
              std::size_t{memory.PeakPagefileUsage});
}
