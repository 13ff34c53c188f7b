// SPDX-License-Identifier: Apache-2.0
// For the tests of sampling: what the heap profile has recorded so far, and what it should have.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "alloc/allocator.hpp"
#include "alloc/heap/flush.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/options.hpp"
#include "alloc/profile/aggregates.hpp"
#include "alloc/sample/sampler.hpp"

namespace corbel::alloc {

struct Recorded {
  Estimate allocated;
  Estimate live;
  Estimate peak;
  std::size_t blocks = 0;  // sampled and not freed
};

inline Recorded recorded() {
  sync::LockGuard guard(samples_lock);
  Recorded all;
  for (const Aggregate* a = first_aggregate(); a != nullptr; a = a->next) {
    all.allocated.add(a->allocated);
    all.live.add(a->live);
    all.peak.add(at_peak(*a));
  }
  all.blocks = recorded_blocks();
  return all;
}

inline double blocks_of(const Estimate& e) { return std::ldexp(double(e.parts), -20); }

// What `count` blocks of `size` bytes should be estimated as.
struct Truth {
  double bytes = 0;
  double variance = 0;

  void add(std::size_t count, std::size_t size, std::uint64_t every) {
    const double p = every == 1 ? 1 : -std::expm1(-double(size) / double(every));
    bytes += double(count) * double(size);
    variance += double(count) * double(size) * double(size) * (1 - p) / p;
  }
  double deviation() const { return std::sqrt(variance); }
};

inline void expect_near(double estimate, const Truth& truth) {
  EXPECT_NEAR(estimate, truth.bytes, 4 * truth.deviation() + 1e-4 * truth.bytes);
}

class SamplingTest : public ::testing::Test {
 protected:
  // Begins to sample in the calling thread at once; other threads follow as always.
  void begin(std::uint64_t every, SampleRate rate = SampleRate::kExact) {
    every_ = every;
    start_sampling(every, SampledFor::kProfile, rate);
    flush_thread(attach_heap());
    before_ = recorded();
  }

  Estimate allocated() const {
    Estimate e = recorded().allocated;
    e.subtract(before_.allocated);
    return e;
  }

  void SetUp() override {
    seed_sampling(20);
    // A thread that comes and goes by the clock would make the seeds meaningless.
    options.helper_thread.store(HelperThread::kNever, std::memory_order_relaxed);
  }

  void TearDown() override {
    stop_sampling();
    flush_thread(find_heap());
    const Recorded now = recorded();
    EXPECT_EQ(now.blocks, 0U);
    EXPECT_EQ(now.live.parts, 0U);
    EXPECT_EQ(now.live.bytes, 0U);
  }

  std::uint64_t every_ = 0;
  Recorded before_;
};

}  // namespace corbel::alloc
