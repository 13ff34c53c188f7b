// SPDX-License-Identifier: Apache-2.0
#include "sched/core/epoch_readers.hpp"

#include "base/thread_variable.hpp"
#include "os/os.hpp"
#include "sched/core/lock_ranks.hpp"

namespace corbel {
namespace detail {

CORBEL_EXPORTED_THREAD_VARIABLE(epoch_reader, this_epoch_reader, own_epoch_reader){};
constinit epochs all_epochs;

}  // namespace detail

namespace sched {
namespace {

using detail::epoch_reader;

constinit sync::Lock readers_lock{kEpochReaders};
constinit epoch_reader* readers = nullptr;

// The sections of threads that are not listed. While there is one, no epoch passes.
constinit std::atomic<std::uint32_t> unlisted{0};

}  // namespace

sync::Lock& epoch_readers_lock() { return readers_lock; }

void add_epoch_reader(epoch_reader& reader) {
  sync::LockGuard guard(readers_lock);
  reader.next = readers;
  reader.link = &readers;
  if (readers != nullptr) readers->link = &reader.next;
  readers = &reader;
}

void remove_epoch_reader(epoch_reader& reader) {
  sync::LockGuard guard(readers_lock);
  *reader.link = reader.next;
  if (reader.next != nullptr) reader.next->link = reader.link;
}

void enter_unlisted() {
  // (1) seq_cst, a full fence: no pointer is followed before it. Either it comes before the process
  // barrier of has_passed(), and (2) sees the count; or what the section reads comes after.
  unlisted.fetch_add(1, std::memory_order_seq_cst);
  // (1) seq_cst: for processors on which later reads may pass the operation above
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void leave_unlisted() {
  unlisted.fetch_sub(1, std::memory_order_release);  // (3) release: publishes the end to (2)
}

void forget_epoch_readers() {
  epoch_reader& self = detail::own_epoch_reader();
  readers = nullptr;
  const bool is_unlisted = self.mode == epoch_reader::kUnlisted && self.depth != 0;
  unlisted.store(is_unlisted, std::memory_order_relaxed);  // relaxed: no other thread exists
  const bool is_listed = self.mode == epoch_reader::kListed || self.mode == epoch_reader::kFencing;
  if (!is_listed) return;
  self.next = nullptr;
  self.link = &readers;
  readers = &self;
}

}  // namespace sched

namespace detail {

bool has_passed(epoch_number epoch) noexcept {
  return all_epochs.has_passed(epoch, [](const auto& look) {
    epoch_reader& self = own_epoch_reader();
    // The system has ended the other threads, and with them their sections.
    const bool is_alone = os::other_threads_are_gone();
    const bool is_unlisted = self.mode == epoch_reader::kUnlisted && self.depth != 0;
    // (2) acquire: sees what the sections did that (3) ended. A reader of the first epoch stands
    // for all that have not ended.
    if (is_alone ? is_unlisted : sched::unlisted.load(std::memory_order_acquire) != 0) {
      basic_epoch_reader<plain_atomic> oldest;
      oldest.since.store(1, std::memory_order_relaxed);  // relaxed: of this thread alone
      return look(oldest);
    }
    if (is_alone) return look(self);
    sync::LockGuard guard(sched::readers_lock);
    for (epoch_reader* r = sched::readers; r != nullptr; r = r->next) look(*r);
  });
}

}  // namespace detail
}  // namespace corbel
