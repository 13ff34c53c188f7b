// SPDX-License-Identifier: Apache-2.0
// Which blocks are sampled: where the heap meets src/alloc/sample.
//
// Sampling shows a few of the program's blocks to the instruments. Each bin has a Poisson process
// along the bytes that it hands out: the distance from one point to the next is exponential with
// the mean `every`. The request whose block has a point in it is sampled. (tcmalloc samples in this
// way, with one process for a thread.) The superposition of independent Poisson processes of one
// rate is such a process again, so all bins, large blocks and threads together sample the bytes of
// the whole process at the same rate.
//
// malloc's fast path knows nothing of this. A bin is charged when blocks are put on its list, which
// slow paths do. If the next point lies among these blocks, the list is cut before the block with
// the point, and the other blocks go back to their slab. So the list is empty when the sample is
// due, and the request takes the slow path. Its block comes from a slab of sampled blocks, with a
// tag that no fast path of free takes.
//
// A bin's blocks have one size, so its distance is counted in blocks: how many have no point before
// the one that has. That number is what the distance in bytes holds of whole blocks.
//
// Why this is unbiased. At any time let D be the number of the bin's requests up to the one with
// the next point. Then D == credit + the number of blocks on the bin's lists:
//   - a block that is put on a list is charged to the credit, and is not put there if the credit
//     does not suffice;
//   - a block that goes back to its slab unused is refunded;
//   - a pop takes a block from the list, and serves a request.
// So each request of the bin moves D on by one, whatever the lists did in between, and is sampled
// exactly if D is 0. Nothing that the program requests depends on the
// points ahead. So whatever happened before, a request is sampled with the probability 1 -
// exp(-size / every). Counting each sample as the inverse of that many blocks makes every sum over
// blocks unbiased (Horvitz and Thompson, 1952). Without the refund, a cut list that is flushed
// would bring its point forward, and a thread that is flushed often would be sampled too often.
//
// The mean of each distance may depend on all that has happened before the distance is drawn, as
// SamplePace makes it: a request is counted by the probability that it had then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/heap/heap.hpp"
#include "alloc/heap/sample_pace.hpp"
#include "alloc/map/size_class.hpp"

namespace corbel::alloc {

// The state of a heap in a process that samples or has sampled. Belongs to the heap's owner.
struct Sampler {
  static constexpr unsigned kLarge = kClasses;  // the index for all large blocks together

  // For each bin: how many blocks lie between those on its lists and the one with the next point.
  // For large blocks: the bytes before the next point.
  std::uint64_t credit[kClasses + 1];
  // The mean distance for which the credit was drawn.
  std::uint64_t drawn_for[kClasses + 1];
  std::uint64_t random;  // the state of the random numbers
  std::uint64_t every;   // the mean distance that is asked for; 0: sampling is off
  bool is_bounded;       // whether `pace` counts
  SamplePace pace;

  bool is_due(unsigned size_class) const { return credit[size_class] == 0; }

  // Charges the bin for `count` blocks. False, and charges nothing, if one of them has the next
  // point.
  bool charge_all(unsigned size_class, std::uint32_t count) {
    if (credit[size_class] < count) return false;
    credit[size_class] -= count;
    return true;
  }

  // Charges the bin for up to `count` blocks and returns for how many: those before the next point.
  std::uint32_t charge(unsigned size_class, std::uint32_t count) {
    if (charge_all(size_class, count)) return count;
    count = std::uint32_t(credit[size_class]);
    credit[size_class] = 0;
    return count;
  }

  // Takes back the charge for blocks that were on a list of the bin and served no request.
  void refund(unsigned size_class, std::size_t count) { credit[size_class] += count; }
};

inline bool sample_is_due(const Heap* heap, unsigned size_class) {
  return heap->sampler != nullptr && heap->sampler->is_due(size_class);
}

// The mean distance between samples in bytes; 0: sampling is off. relaxed: a thread may see a
// change late
extern std::atomic<std::uint64_t> sampling_distance;
inline bool sampling_is_on() { return sampling_distance.load(std::memory_order_relaxed) != 0; }

// What follows is defined in src/alloc/sample. The caller is in a slow path of `heap`, its own, and
// holds no lock.

// Adapts the heap's sampler to the distance in force. Requires: the lists of all bins are empty.
void follow_sampling(Heap* heap);

// What the program asked for. `alignment` is 1 for the ordinary functions.
struct BlockRequest {
  std::size_t size;
  std::size_t alignment;
};

// Returns the block for a request whose sample is due, and which a block of the class can serve.
// nullptr if the sample is for no instrument, or if there is no memory for that: then an ordinary
// block serves the request.
void* sample_block(Heap* heap, unsigned size_class, const BlockRequest& request);

// Frees a block of `slab`, whose tag is kSampled. Ends the process if no block is allocated there.
void free_sampled(Span* slab, void* block);

// To be called for each new large block while sampling is on, and for one that was resized in
// place, which counts as freed and allocated again. Samples it if a sample is due.
void sample_large(Span* span);

// To be called while sampling is on when a realloc has made a block larger, after all that a new or
// resized block is due. `block` is where the content is now, of which `copied` bytes were copied.
void note_growth(void* block, std::size_t copied);

// To be called before a large block is freed or resized that is sampled. Makes it an unsampled one.
void forget_large(Span* span);

}  // namespace corbel::alloc
