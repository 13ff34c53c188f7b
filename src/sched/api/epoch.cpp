// SPDX-License-Identifier: Apache-2.0
// The reading sections that are not inlined.
#include <corbel/detail/epoch.hpp>

#include "os/os.hpp"
#include "sched/core/epoch_readers.hpp"
#include "sched/pool/controls.hpp"

namespace corbel::detail {
namespace {

void end_thread(void* reader) {
  epoch_reader& self = *static_cast<epoch_reader*>(reader);
  sched::remove_epoch_reader(self);
  // A later destructor may read a container. It does not list the thread again: the system may not
  // call this function once more.
  self.mode = epoch_reader::kUnlisted;
  self.depth = 0;  // the thread may have ended in a section
}

constinit os::ThreadExit thread_exit{end_thread};

// Called in the thread's first section, before it has begun. A malloc of the program that is called
// meanwhile may read a container: those sections do not nest in this one.
void list(epoch_reader& self) {
  self.mode = epoch_reader::kUnlisted;
  self.depth = 0;
  sched::controls();  // hooks forks
  const bool has_barrier = os::enable_process_barrier();
  if (thread_exit.hook(&self)) {
    sched::add_epoch_reader(self);
    self.mode = has_barrier ? epoch_reader::kListed : epoch_reader::kFencing;
  }
  self.depth = 1;
}

}  // namespace

void enter_slowly(epoch_reader& reader) noexcept {
  if (reader.mode == epoch_reader::kNew) list(reader);
  if (reader.mode == epoch_reader::kUnlisted) return sched::enter_unlisted();
  all_epochs.enter(reader);
  if (reader.mode == epoch_reader::kFencing) {
    // (7) seq_cst: the fence that the process barrier of has_passed() would execute here. Either
    // this one is first, and the look (3) sees the section; or the reclaimer's is, and the section
    // finds unlinked what the reclaimer has unlinked.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void leave_slowly(epoch_reader&) noexcept { sched::leave_unlisted(); }

}  // namespace corbel::detail
