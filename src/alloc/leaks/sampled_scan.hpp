// SPDX-License-Identifier: Apache-2.0
// A scan for leaks among the sampled blocks (alloc/heap/sampling.hpp), cheap enough for production:
// only these have a record.
//
// The mark phase needs every block, since any may have the pointer that leads to a sampled one. It
// takes every place in a slab as a block, and every large block: what a pointer from the roots, or
// from such a block, leads to is reachable. A place whose block has been freed is not told from one
// in use. An old pointer to it may make others reachable, so a leak may be missed, but no block is
// reported that a pointer in the program's memory, to the block or into it, leads to.
//
// Any pointer into a block counts. One just past its end leads to the next place of the slab, and
// to the block only where there is none: a block that is kept by such a pointer alone may be
// reported. A sampled block that only a lost block leads to is lost, too; which one is the cause
// cannot be said, because the block between may have no record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/block_table.hpp"
#include "alloc/leaks/findings.hpp"
#include "alloc/leaks/roots.hpp"
#include "alloc/leaks/scratch.hpp"

namespace corbel::alloc {

// Every place for a block in the heap, and which of them are reachable.
class HeapPlaces {
 public:
  // Lists the slabs and large blocks. False if there is no memory. Runs while the threads are
  // stopped, as the functions below.
  bool find(Scratch* scratch);

  // Looks for pointers, and follows them.
  void scan(const Ranges& unreadable, const std::uintptr_t* words, std::size_t count);

  // Whether a pointer leads to the block; also if it lies in no slab, as a guarded block does.
  bool is_reachable(std::uintptr_t block) const;

 private:
  struct Place {
    std::uint32_t span;  // its index in spans_
    std::uint32_t number;
  };
  static constexpr StackId kLargeBlock = ~StackId(0);

  bool find_place(std::uintptr_t address, Place* place) const;
  std::uintptr_t start_of(const Place& place) const;
  std::size_t size_of(const Place& place) const;
  std::uint64_t bit_of(const Place& place) const { return first_bit_[place.span] + place.number; }
  void follow(std::uintptr_t value);

  BlockTable spans_;  // with the size class, or kLargeBlock, in the place of the stack
  std::uint64_t* first_bit_ = nullptr;  // for each span
  std::uint64_t* marks_ = nullptr;      // a bit for each place
  Place* stack_ = nullptr;              // places whose words are still to be followed
  std::size_t stack_size_ = 0;
};

class SampledScan : public LeakFindings {
 public:
  SampledScan() : LeakFindings(true) {}

  // Requires: no other scan is running, and the thread holds no lock of the allocator, unless it
  // interrupted itself: then `may_wait` is false, and the result may be kBusy. `own` is what the
  // calling thread uses; nullptr: all.
  Result run(const LiveContext* own, bool may_wait);

 private:
  struct Lost {
    StackId stack;
    std::uint64_t parts, bytes;
  };

  void scan_stopped(const os::StoppedThreads& threads);
  bool add_up();

  Scratch scratch_;
  const LiveContext* own_ = nullptr;
  Lost* lost_ = nullptr;
  std::size_t lost_count_ = 0;
};

}  // namespace corbel::alloc
