// SPDX-License-Identifier: Apache-2.0
// The frame of every kernel of the lab. A kernel describes itself, runs once, checks its own result
// and reports its figures. bench/README.md shows how to add one.
//
//   KERNEL --describe              its description, as JSON
//   KERNEL [threads=N] [key=value] one run; one line of JSON on standard output; exit code 0 only
//                                  if the kernel's own check succeeds
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

// The arguments of one run. A name that the kernel never asks for is an error, so that a misspelt
// argument does not silently measure something else.
class Arguments {
 public:
  Arguments(int count, char** values);
  std::uint64_t number(const std::string& name, std::uint64_t fallback);
  std::string text(const std::string& name, const std::string& fallback);
  unsigned threads() const { return threads_; }
  std::string unknown() const;

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, bool> asked_;
  unsigned threads_ = 1;
};

// The result of one run. `value` is the kernel's metric in its unit. `checksum` must not depend on
// the contestant: the lab compares it between contestants.
struct Result {
  double value = 0;
  double seconds = 0;  // of the timed part
  std::uint64_t checksum = 0;
  std::map<std::string, double> extra;                // more figures, shown below the plot
  std::map<std::string, std::vector<double>> series;  // curves: time of the n-th conversion, ...
};

// One parameter set of a kernel: a row of its table for each number of threads.
struct Case {
  std::string label = {};   // short and unique in the kernel; empty when there is only one
  std::string quick = {};   // arguments, separated by spaces: tens of milliseconds a run
  std::string normal = {};  // about half a second a run
  std::string full = {};    // the size in the founding documents if they state one
  std::vector<std::string> allocators = {};  // the only ones to run on; empty: the kernel's
  std::vector<std::string> apis =
      {};  // of a scheduler kernel: those that can express it; empty: all
};

// A way to write the same program: `api` names the source file, `name` is passed as variant=NAME.
struct Variant {
  std::string api = {};
  std::string name = {};
};

struct Kernel {
  std::string name = {};   // the name of its folder
  std::string title = {};  // for the reader
  std::string what = {};   // what it measures, in two sentences
  std::string group =
      {};  // "seed allocator", "seed scheduler", "modern allocator", "modern scheduler"
  std::string figure =
      {};  // the figure that it reproduces: "Figure 13", "the article's table"; or empty
  std::string metric = "time";
  std::string unit = "s";  // "s", "ns", "us", "1/s", "MiB", "x"
  bool higher_is_better = false;
  std::string plot = "bars";  // "bars", "lines", "log lines", "difference", "table", "series", ...
  // It sleeps most of the time: it watches memory for seconds, or its bodies sleep. Other processes
  // hardly disturb that, and a quick run has only one round of it.
  bool watches = false;
  std::vector<unsigned> threads = {1};
  // The only ones of a quick run of all rows; empty: all.
  std::vector<unsigned> brief_threads = {};
  std::vector<Case> cases = {};
  std::vector<Variant> variants = {};        // scheduler kernels only; default: one for each source
  std::vector<std::string> allocators = {};  // the only ones to run on; empty: all for allocator
                                             // kernels, glibc alone for scheduler kernels
  std::function<void(Arguments&, Result&)> run = {};
};

// Defined by each kernel's source.
extern const Kernel kernel;

// Seconds on a monotonic clock.
double now();

// Ends the run with exit code 1 and `what` on standard error.
[[noreturn, gnu::cold]] void wrong(const char* what);

// Ends the run with exit code 77: this machine cannot run the row, for the reason `why`.
[[noreturn]] void leave_out(const char* why);

// Calls wrong() unless `good`. Inline, because timed loops call it.
inline void check(bool good, const char* what) {
  if (!good) [[unlikely]] {
    wrong(what);
  }
}

// Runs `body(i)` in `count` threads that start together, and returns the seconds from that moment
// until the last has ended. With no more threads than cores, thread i stays on the i-th usable
// core.
double in_threads(unsigned count, const std::function<void(unsigned)>& body);

// Pins the calling thread to the i-th usable core; for threads that a kernel starts itself.
void pin(unsigned index, unsigned count);
unsigned usable_cores();

// Tells the compiler that `pointer` and its target may be read and written here.
inline void escape(void* pointer) { asm volatile("" : : "g"(pointer) : "memory"); }

// Reads one figure in KiB from /proc/self/status: "VmRSS", "VmHWM", "VmPeak".
std::uint64_t status_kib(const char* name);

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, fast, the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // In [0, bound); bound below 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace bench
