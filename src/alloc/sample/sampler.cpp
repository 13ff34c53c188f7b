// SPDX-License-Identifier: Apache-2.0
#include "alloc/sample/sampler.hpp"

#include "alloc/heap/flush.hpp"
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

// The distance to the next point. A block of `size` bytes has a point if the distance is less than
// `size`, and so does it if the distance is rounded down.
std::uint64_t draw(Sampler& sampler) {
  if (sampler.every == 0) return kUnlimited;
  if (sampler.every == 1) return 0;
  return std::uint64_t(minus_ln(next_random(sampler)) * double(sampler.every));
}

void draw_all(Sampler& sampler, std::uint64_t every) {
  sampler.every = every;
  for (std::uint64_t& credit : sampler.credit) credit = draw(sampler);
}

Sampler* make_sampler() {
  auto* const sampler = static_cast<Sampler*>(allocate_metadata(sizeof(Sampler)));
  if (sampler == nullptr) return nullptr;
  sampler->random = mix(next_seed.fetch_add(kGoldenRatio, std::memory_order_relaxed));
  return sampler;
}

// How many blocks of this size a sampled one stands for.
double weight_of(std::uint64_t size, std::uint64_t every) {
  return every == 1 ? 1 : 1 / one_minus_exp(double(size) / double(every));
}

void change_distance(std::uint64_t every) {
  // relaxed: request_flush() publishes it to the threads that honour the request
  sampling_distance.store(every, std::memory_order_relaxed);
  // A flush empties the lists, whose blocks are charged from then on.
  request_flush();
}

}  // namespace

void start_sampling(std::uint64_t every) { change_distance(every); }

void stop_sampling() { change_distance(0); }

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
  if (heap->sampler->every != every) draw_all(*heap->sampler, every);
}

void* sample_block(Heap* heap, unsigned size_class) {
  Sampler& sampler = *heap->sampler;
  const std::size_t size = kSizeClasses[size_class].block_size;
  const StackId stack = capture_stack();
  prepare_to_record();
  void* block;
  bool due = false;
  {
    sync::LockGuard guard(samples_lock);
    block = take_from_sampled_slab(size_class);
    if (block != nullptr) {
      const double weight = weight_of(size, sampler.every);
      if (!record_sample({block, size, weight, stack})) {
        due = put_into_sampled_slab(slab_head(find_span(block)), block);
        block = nullptr;
      }
    }
  }
  if (due) span_heap.purge_due();
  // The point of an ordinary block that follows must lie after it.
  std::uint64_t& credit = sampler.credit[size_class];
  credit = draw(sampler);
  if (block == nullptr && credit < size) credit = size;
  return block;
}

void free_sampled(Span* slab, void* block) {
  check_block("free", slab, block);
  bool known;
  bool due = false;
  {
    sync::LockGuard guard(samples_lock);
    known = forget_sample(block);
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
  const StackId stack = capture_stack();
  prepare_to_record();
  {
    sync::LockGuard guard(samples_lock);
    const double weight = weight_of(size, sampler->every);
    span->sampled = record_sample({span->start(), size, weight, stack});
  }
  credit = draw(*sampler);
}

void forget_large(Span* span) {
  sync::LockGuard guard(samples_lock);
  forget_sample(span->start());
  span->sampled = false;
}

}  // namespace corbel::alloc
