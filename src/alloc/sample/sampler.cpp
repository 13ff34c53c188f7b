// SPDX-License-Identifier: Apache-2.0
#include "alloc/sample/sampler.hpp"

#include <algorithm>

#include "alloc/heap/flush.hpp"
#include "alloc/heap/kept_address.hpp"
#include "alloc/heap/large.hpp"
#include "alloc/heap/sampling.hpp"
#include "alloc/heap/slab.hpp"
#include "alloc/heap/thread.hpp"
#include "alloc/map/die.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/sample/exponential.hpp"
#include "alloc/sample/observer.hpp"
#include "alloc/sample/sampled_slabs.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit sync::Lock samples_lock{lock_rank::kSamples};
constinit std::atomic<std::uint64_t> sampling_distance{0};

namespace {

// relaxed: each heap only needs a number that no other heap has
constinit std::atomic<std::uint64_t> next_seed{0};

// While sampling is off, no list is cut.
constexpr std::uint64_t kUnlimited = std::uint64_t(1) << 62;

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
std::uint64_t next_random(Sampler& sampler) { return mix(sampler.random += kGoldenRatio); }

// Draws the distance to the next point of a bin, or of large blocks (kLarge). A large block of
// `size` bytes has a point if the distance is less than `size`, and so does it if the distance is
// rounded down.
void draw(Sampler& sampler, unsigned size_class) {
  std::uint64_t& credit = sampler.credit[size_class];
  if (sampler.every <= 1) {
    credit = sampler.every == 0 ? kUnlimited : 0;
    sampler.drawn_for[size_class] = sampler.every;
    return;
  }
  const std::uint64_t every = sampler.every << (sampler.is_bounded ? sampler.pace.shift : 0);
  sampler.drawn_for[size_class] = every;
  credit = std::uint64_t(minus_ln(next_random(sampler)) * double(every));
  if (size_class != Sampler::kLarge) credit /= kSizeClasses[size_class].block_size;
}

void count_sample(Sampler& sampler) {
  if (sampler.is_bounded && sampler.pace.count()) sampler.pace.look(os::now_ns());
}

Sampler* make_sampler() {
  auto* const sampler = static_cast<Sampler*>(allocate_metadata(sizeof(Sampler)));
  if (sampler == nullptr) return nullptr;
  sampler->random = mix(next_seed.fetch_add(kGoldenRatio, std::memory_order_relaxed));
  return sampler;
}

// The distance for each purpose; 0: no block is sampled for it. relaxed: as sampling_distance
struct Distance {
  std::atomic<std::uint64_t> mean;
  std::atomic<bool> may_grow;
};
constinit Distance distances[kSamplingPurposes]{};
// Whether the purpose with the smallest distance lets the rate be bounded. relaxed: likewise
constinit std::atomic<bool> rate_is_bounded{false};

// How likely a block of this size is sampled.
double probability_of(std::uint64_t size, std::uint64_t every) {
  return every == 1 ? 1 : one_minus_exp(double(size) / double(every));
}

// Decides whether a sample is for the purpose. Returns how many blocks of this size it stands for;
// 0: it is not for the purpose.
//
// The heap has sampled the block with the probability p, and the purpose is to get it with the
// probability q. So it gets the sample with the probability q / p. While the heap still samples at
// another distance, q may be the larger one: then the purpose gets every sample, and p counts.
double weight_for(SampledFor purpose, std::uint64_t size, unsigned size_class, Sampler& sampler) {
  const std::uint64_t every = distances[unsigned(purpose)].mean.load(std::memory_order_relaxed);
  if (every == 0) return 0;
  const std::uint64_t drawn_for = sampler.drawn_for[size_class];
  const double p = probability_of(size, drawn_for);
  if (every <= drawn_for) return 1 / p;
  const double q = probability_of(size, every);
  return double(next_random(sampler)) * 0x1p-64 * p < q ? 1 / q : 0;
}

void change_distance(SampledFor purpose, std::uint64_t every, bool is_bounded) {
  Distance& changed = distances[unsigned(purpose)];
  changed.may_grow.store(is_bounded, std::memory_order_relaxed);
  changed.mean.store(every, std::memory_order_relaxed);
  std::uint64_t smallest = 0;
  bool bounds = false;
  for (const Distance& distance : distances) {
    const std::uint64_t other = distance.mean.load(std::memory_order_relaxed);
    if (other == 0 || (smallest != 0 && other > smallest)) continue;
    const bool other_bounds = distance.may_grow.load(std::memory_order_relaxed);
    bounds = other_bounds && (bounds || other != smallest);
    smallest = other;
  }
  rate_is_bounded.store(bounds, std::memory_order_relaxed);
  // relaxed: request_flush() publishes it to the threads that honour the request
  sampling_distance.store(smallest, std::memory_order_relaxed);
  // A flush empties the lists, whose blocks are charged from then on.
  request_flush();
}

}  // namespace

void start_sampling(std::uint64_t every, SampledFor purpose, SampleRate rate) {
  change_distance(purpose, every, rate == SampleRate::kBounded);
}

void stop_sampling(SampledFor purpose) { change_distance(purpose, 0, false); }

bool samples_for(SampledFor purpose) {
  return distances[unsigned(purpose)].mean.load(std::memory_order_relaxed) != 0;
}

void seed_sampling(std::uint64_t seed) {
  next_seed.store(mix(seed + kGoldenRatio), std::memory_order_relaxed);
}

void follow_sampling(Heap* heap) {
  const std::uint64_t every = sampling_distance.load(std::memory_order_relaxed);
  if (heap->sampler == nullptr) {
    if (every == 0) return;
    heap->sampler = make_sampler();
    if (heap->sampler == nullptr) return;
  }
  const bool is_bounded = rate_is_bounded.load(std::memory_order_relaxed);
  Sampler& sampler = *heap->sampler;
  if (sampler.every == every && sampler.is_bounded == is_bounded) return;
  sampler.every = every;
  sampler.is_bounded = is_bounded;
  sampler.pace = {.since = is_bounded ? os::now_ns() : 0};
  for (unsigned i = 0; i <= kClasses; ++i) draw(sampler, i);
}

namespace {

// How many blocks a sampled one stands for, for each purpose that records blocks; 0: the sample is
// not for that purpose.
struct Weights {
  double profile;
  double lifetimes;

  bool any() const { return profile != 0 || lifetimes != 0; }
};

Weights weights_for(std::uint64_t size, unsigned size_class, Sampler& sampler) {
  return {weight_for(SampledFor::kProfile, size, size_class, sampler),
          weight_for(SampledFor::kLifetimes, size, size_class, sampler)};
}

// Returns false if there was no memory for any record. Requires: the caller holds samples_lock.
bool record(void* block, std::size_t size, const Weights& weights, StackId stack) {
  bool recorded = false;
  if (weights.profile != 0) recorded = record_sample({block, size, weights.profile, stack});
  if (weights.lifetimes == 0) return recorded;
  return record_lifetime({block, size, weights.lifetimes, stack}) || recorded;
}

// Records a block of the class: `guarded`, or a new one if that is nullptr. Returns the block;
// `guarded` if it cannot be recorded.
void* record_block(unsigned size_class, void* guarded, const Weights& weights, StackId stack) {
  prepare_to_record();
  bool due = false;
  void* block = guarded;
  {
    sync::LockGuard guard(samples_lock);
    if (block == nullptr) block = take_from_sampled_slab(size_class);
    if (block == nullptr) return nullptr;
    const std::size_t size = kSizeClasses[size_class].block_size;
    if (!record(block, size, weights, stack) && guarded == nullptr) {
      due = put_into_sampled_slab(slab_head(find_span(block)), block);
      block = nullptr;
    }
  }
  if (due) span_heap.purge_due();
  return block;
}

}  // namespace

void* sample_block(Heap* heap, unsigned size_class, const BlockRequest& request) {
  Sampler& sampler = *heap->sampler;
  const std::size_t size = kSizeClasses[size_class].block_size;
  count_sample(sampler);
  const Weights weights = weights_for(size, size_class, sampler);
  const bool is_guarded =
      weight_for(SampledFor::kGuards, size, size_class, sampler) != 0 && can_guard(request);
  // The next point lies after the ordinary block that serves the request, if that is what does.
  draw(sampler, size_class);
  void* block = nullptr;
  if (weights.any() || is_guarded) {
    const StackId stack = capture_stack();
    if (is_guarded) block = take_guarded(request, stack);
    if (weights.any()) block = record_block(size_class, block, weights, stack);
  }
  if (block == nullptr) ++sampler.credit[size_class];
  return block;
}

bool forget_samples(const void* block, const FreeOfSample& how) {
  const bool is_in_profile = forget_sample(block);
  return end_lifetime(block, how) || is_in_profile;
}

void free_sampled(Span* slab, void* block) {
  const FreeOfSample how = begin_free(block);
  check_block("free", slab, block);
  bool known;
  bool due = false;
  {
    sync::LockGuard guard(samples_lock);
    known = forget_samples(block, how);
    if (known) due = put_into_sampled_slab(slab, block);
  }
  if (!known) die("free", "the block was freed twice", block);
  if (due) span_heap.purge_due();
}

void sample_large(Span* span) {
  Heap* const heap = find_heap();
  if (heap == nullptr) return;
  SlowPath slow_path(heap);
  // A thread that has only large blocks makes no refill, which would flush it.
  if (flush_is_wanted(heap)) flush_thread(heap);
  Sampler* const sampler = heap->sampler;
  if (sampler == nullptr) return;
  const std::size_t size = large_size(span);
  std::uint64_t& credit = sampler->credit[Sampler::kLarge];
  if (credit >= size) {
    credit -= size;
    return;
  }
  count_sample(*sampler);
  const Weights weights = weights_for(size, Sampler::kLarge, *sampler);
  draw(*sampler, Sampler::kLarge);
  if (!weights.any()) return;
  const StackId stack = capture_stack();
  prepare_to_record();
  sync::LockGuard guard(samples_lock);
  span->sampled = record(span->start(), size, weights, stack);
}

void forget_large(Span* span) {
  const KeptAddress kept(span->start());
  const FreeOfSample how = begin_free(span->start());
  sync::LockGuard guard(samples_lock);
  forget_samples(span->start(), how);
  span->sampled = false;
}

void note_growth(void* block, std::size_t copied) {
  const Span* const span = slab_head(find_span(block));
  const std::uintptr_t t = span->tag();
  if (t == span_tag::kSampled || t == span_tag::kGuarded ||
      (t == span_tag::kLarge && span->sampled))
    record_growth(block, copied);
}

}  // namespace corbel::alloc
