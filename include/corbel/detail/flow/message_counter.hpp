// SPDX-License-Identifier: Apache-2.0
// Counts messages up to the number of predecessors. Not for programs to include.
//
// One word has the number of messages and the number of predecessors, so a change of either and the
// comparison are one step. With at most one predecessor every message completes the count, which
// then only needs a load.
//
// Messages for which try_put_and_wait waits are rare. A thread that counts one holds the lock,
// under which it also adds what the message holds, and sets kHasInfo. A thread that completes a
// count with that flag takes the lock, too: so it takes exactly what the messages that it completes
// hold.
#ifndef CORBEL_DETAIL_FLOW_MESSAGE_COUNTER_HPP
#define CORBEL_DETAIL_FLOW_MESSAGE_COUNTER_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/flow/pointer_list.hpp>

namespace corbel {
namespace detail {

template <template <typename> class Atomic = plain_atomic, typename Info = flow::message_metainfo,
          typename Lock = spinning_mutex>
class message_counter {
 public:
  explicit message_counter(int predecessors)
      : word_(predecessors * kOnePredecessor), initial_(std::uint32_t(predecessors)) {}

  int initial() const { return int(initial_); }

  // relaxed, both: edges carry nothing to the receiver
  void add_predecessor() { word_.fetch_add(kOnePredecessor, std::memory_order_relaxed); }
  void remove_predecessor() { word_.fetch_sub(kOnePredecessor, std::memory_order_relaxed); }

  // Counts a message. Returns whether it completes the count, which begins again then; `all` gets
  // what the other messages hold.
  bool count_message(Info& all) {
    // (1) acquire: the thread that completes the count sees what the others did before (2)
    std::uint64_t word = word_.load(std::memory_order_acquire);
    while (CORBEL_LIKELY((word & kHasInfo) == 0)) {
      if (completes(word) && messages(word) == 0) return true;
      if (CORBEL_LIKELY(step(word, 0))) return completes(word);
    }
    return count_under_lock(nullptr, all);
  }

  // Counts a message that holds `info`.
  bool count_message(const Info& info, Info& all) { return count_under_lock(&info, all); }

  // Forgets the messages, and the predecessors that were added. No other thread uses the object.
  void reset(bool predecessors) {
    // relaxed, both: no other thread uses the object
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    word_.store(
        predecessors ? initial_ * kOnePredecessor : word / kOnePredecessor * kOnePredecessor,
        std::memory_order_relaxed);
    info_.clear();
  }

 private:
  enum : std::uint64_t {
    kHasInfo = std::uint64_t{1} << 31,
    kOnePredecessor = std::uint64_t{1} << 32
  };

  static std::uint64_t messages(std::uint64_t word) { return word & (kHasInfo - 1); }
  // Whether one more message completes the count.
  static bool completes(std::uint64_t word) { return messages(word) + 1 >= word / kOnePredecessor; }
  // Counts one message, from the state `word`, which is updated if there is another one by now.
  bool step(std::uint64_t& word, std::uint64_t added) {
    const std::uint64_t next =
        completes(word) ? word / kOnePredecessor * kOnePredecessor : (word + 1) | added;
    // (2) acq_rel: see (1); (1) acquire on failure
    return word_.compare_exchange_weak(word, next, std::memory_order_acq_rel,
                                       std::memory_order_acquire);
  }

  CORBEL_NOINLINE bool count_under_lock(const Info* info, Info& all) {
    const mutex_guard<Lock> scope(lock_);
    if (info != nullptr) info_.merge(*info);
    // (1) acquire: as above
    std::uint64_t word = word_.load(std::memory_order_acquire);
    while (!step(word, info != nullptr ? kHasInfo : word & kHasInfo)) continue;
    if (!completes(word)) return false;
    all = static_cast<Info&&>(info_);
    return true;
  }

  Atomic<std::uint64_t> word_;
  const std::uint32_t initial_;
  Lock lock_;
  Info info_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_MESSAGE_COUNTER_HPP
