// SPDX-License-Identifier: Apache-2.0
// A scan for leaks: the program's threads stop, and what no root leads to is lost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/block_table.hpp"
#include "alloc/leaks/roots.hpp"
#include "alloc/leaks/scratch.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// Where the blocks of a scan come from.
struct BlockSource {
  // Calls `visit` for each block that the program has. Runs while all threads are stopped, so it
  // takes no lock. `settled` is false for a block that a thread is allocating, freeing or resizing:
  // it is taken as reachable.
  void (*for_each)(void (*visit)(void* context, std::uintptr_t start, std::size_t size,
                                 StackId allocated_at, bool settled),
                   void* context);
};

// What became of the blocks that were allocated at one place, which all have one stack.
struct LeakPlace {
  enum class Kind : std::uint8_t { kDefinite, kPossible, kReachable };
  Kind kind;
  StackId stack;
  std::uint64_t blocks, bytes;
  // kDefinite: of other places, what is lost with these blocks.
  std::uint64_t indirect_blocks, indirect_bytes;

  std::uint64_t all_bytes() const { return bytes + indirect_bytes; }
};

struct LeakTotal {
  std::uint64_t blocks = 0, bytes = 0, places = 0;
};

class LeakScan {
 public:
  enum class Result { kDone, kNotStopped, kNoMemory, kNoMappings };

  // Requires: no other scan is running, and the thread holds no lock of the allocator.
  // `own` is what the calling thread uses; nullptr: all.
  Result run(const BlockSource& source, const LiveContext* own);

  // Why the threads could not be stopped.
  const os::StopOutcome& stop_outcome() const { return stop_outcome_; }

  // The places, by kind; those with the most bytes first.
  const LeakPlace* begin() const { return places_; }
  const LeakPlace* end() const { return places_ + place_count_; }

  // For kDefinite with the indirect leaks.
  const LeakTotal& total(LeakPlace::Kind kind) const { return totals_[unsigned(kind)]; }

 private:
  void scan_stopped(const os::StoppedThreads& threads);
  bool add_up();

  Scratch scratch_;
  BlockTable blocks_;
  const BlockSource* source_ = nullptr;
  const LiveContext* own_ = nullptr;
  Result result_ = Result::kNoMemory;
  os::StopOutcome stop_outcome_;
  LeakPlace* places_ = nullptr;
  std::size_t place_count_ = 0;
  LeakTotal totals_[3];
};

}  // namespace corbel::alloc
