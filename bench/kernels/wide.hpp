// SPDX-License-Identifier: Apache-2.0
// Machines that are not there: bodies that sleep. A sleeping body takes no processor, so a machine
// with two cores shows how a scheduler divides work among 64 threads: a thread that has nothing to
// do, although there are bodies that wait, makes the call longer.
//
// The figure of a call is its time divided by the greedy bound: no schedule takes less than the
// work divided by the threads, nor less than the longest chain of bodies that must follow each
// other (for a loop: its longest body). A schedule that leaves no thread idle while a body waits
// takes at most work / threads + chain * (1 - 1 / threads) (R. L. Graham, Bounds on multiprocessing
// timing anomalies, 1969).
#pragma once

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "harness.hpp"

namespace wide {

inline const std::vector<unsigned> kThreads = {4, 8, 16, 32, 64};
inline const std::vector<unsigned> kBriefThreads = {32};

inline void sleep_us(std::uint32_t us) {
  if (us == 0) return;
  timespec left = {static_cast<time_t>(us / 1000000), static_cast<long>(us % 1000000) * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

// Bodies that sleep for given times, and count that each is called once.
class Bodies {
 public:
  explicit Bodies(std::vector<std::uint32_t> us) : us_(std::move(us)), calls_(us_.size()) {}

  std::size_t count() const { return us_.size(); }

  // The i-th body.
  void operator()(std::size_t i) const {
    if (began_ != nullptr) began_[i] = bench::now();
    pause(i);
    calls_[i].fetch_add(1, std::memory_order_relaxed);
  }

  // As long as the i-th body, but not a call of it: for an algorithm that visits twice.
  void pause(std::size_t i) const { sleep_us(us_[i]); }

  // Where to write when each body begins.
  void note_begin(double* began) const { began_ = began; }

  double work() const { return std::accumulate(us_.begin(), us_.end(), 0.0) * 1e-6; }
  double longest() const { return *std::max_element(us_.begin(), us_.end()) * 1e-6; }

  void check_calls() const {
    for (const auto& calls : calls_) {
      bench::check(calls.load(std::memory_order_relaxed) == 1, "a body was not called once");
    }
  }

 private:
  const std::vector<std::uint32_t> us_;
  mutable std::vector<std::atomic<std::uint32_t>> calls_;
  mutable double* began_ = nullptr;
};

// The work and the longest chain of a call, in seconds.
struct Bounds {
  double work = 0;
  double chain = 0;
  double greedy(unsigned threads) const { return std::max(work / threads, chain); }
  double graham(unsigned threads) const { return work / threads + chain * (1 - 1.0 / threads); }
};

inline double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Gathers the calls of one run. The run's figure is the worst ratio.
class Ratios {
 public:
  explicit Ratios(unsigned threads) : threads_(threads) {}

  // `extra` names the further figure that keeps the worst of its ratios.
  void add(const std::string& extra, const Bounds& bounds, double seconds) {
    double& worst = worst_[extra];
    worst = std::max(worst, seconds / bounds.greedy(threads_));
    graham_ = std::max(graham_, seconds / bounds.graham(threads_));
    seconds_ += seconds;
  }

  void report(bench::Result& result) const {
    for (const auto& [name, ratio] : worst_) {
      result.value = std::max(result.value, ratio);
      if (worst_.size() > 1) result.extra[name] = ratio;
    }
    result.extra["÷ Graham's bound"] = graham_;
    result.seconds = seconds_;
    result.checksum = worst_.size();
  }

 private:
  const unsigned threads_;
  std::map<std::string, double> worst_;
  double graham_ = 0;
  double seconds_ = 0;
};

// The median time of `calls` calls of `call(bodies)`, each with bodies of its own.
template <typename Call>
double time_calls(const std::vector<std::uint32_t>& us, std::uint64_t calls, const Call& call) {
  bench::check(calls > 0, "calls= is at least 1");
  std::vector<double> times;
  for (std::uint64_t i = 0; i < calls; ++i) {
    const Bodies bodies(us);
    const double begin = bench::now();
    call(bodies);
    times.push_back(bench::now() - begin);
    bodies.check_calls();
  }
  return median(std::move(times));
}

// `count` as a product of two factors that are as near each other as they can be.
inline std::size_t divisor(std::size_t count) {
  auto found = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  while (count % found != 0) --found;
  return found;
}

}  // namespace wide
