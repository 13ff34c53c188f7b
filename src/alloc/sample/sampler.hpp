// SPDX-License-Identifier: Apache-2.0
// Which requests are sampled: turning sampling on and off. alloc/heap/sampling.hpp explains how.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::alloc {

// The largest mean distance between two samples: 1 TiB.
inline constexpr std::uint64_t kMaxSamplingDistance = std::uint64_t(1) << 40;

// What blocks are sampled for. Each purpose has a distance of its own. The sampler samples at the
// smallest of them, and a purpose with a larger one takes only a part of the samples, at random.
enum class SampledFor : unsigned char { kProfile, kLifetimes, kGuards };
inline constexpr unsigned kSamplingPurposes = 3;

// Whether a thread that allocates very fast may sample less often (SamplePace).
enum class SampleRate : unsigned char { kExact, kBounded };

// Samples from now on, on average once in `every` bytes; with 1, every block. Each thread begins
// with its next slow path. `every` is from 1 to kMaxSamplingDistance. If sampling is on, changes
// the distance. The caller holds no lock.
void start_sampling(std::uint64_t every, SampledFor purpose = SampledFor::kProfile,
                    SampleRate rate = SampleRate::kExact);

// Samples no more for the purpose. Threads end with their next slow path. The blocks that are
// sampled remain so.
void stop_sampling(SampledFor purpose = SampledFor::kProfile);

// Whether sampling is on for the purpose.
bool samples_for(SampledFor purpose);

// Begins the random numbers of heaps that have not been sampled yet at `seed`. Without a call, a
// process begins at a number of its own.
void seed_sampling(std::uint64_t seed);

}  // namespace corbel::alloc
