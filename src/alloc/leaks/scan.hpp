// SPDX-License-Identifier: Apache-2.0
// A scan for leaks: the program's threads stop, and what no root leads to is lost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/leaks/block_table.hpp"
#include "alloc/leaks/findings.hpp"
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

class LeakScan : public LeakFindings {
 public:
  LeakScan() : LeakFindings(false) {}

  // Requires: no other scan is running, and the thread holds no lock of the allocator, unless it
  // interrupted itself: then `may_wait` is false, and the result may be kBusy. `own` is what the
  // calling thread uses; nullptr: all.
  Result run(const BlockSource& source, const LiveContext* own, bool may_wait);

 private:
  void scan_stopped(const os::StoppedThreads& threads);
  bool add_up();

  Scratch scratch_;
  BlockTable blocks_;
  const BlockSource* source_ = nullptr;
  const LiveContext* own_ = nullptr;
};

}  // namespace corbel::alloc
