// SPDX-License-Identifier: Apache-2.0
// The order in which a thread takes the scheduler's locks: ascending. The allocator's locks come
// after all of them; their ranks begin at 16.
#pragma once

namespace corbel::sched {

enum LockRank : int {
  kControls,
  kObservers,
  kThreadPool,
  kParkedThreads,
  kIsolation,
  kQueue,
  kUnusedThreads,
  kEpochReaders,
  kTaskOrder,
  kTrace,
  kBlockPool
};

}  // namespace corbel::sched
