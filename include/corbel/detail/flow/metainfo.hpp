// SPDX-License-Identifier: Apache-2.0
// What travels with a message of a flow graph: the calls of try_put_and_wait that wait for it. Not
// for programs to include.
#ifndef CORBEL_DETAIL_FLOW_METAINFO_HPP
#define CORBEL_DETAIL_FLOW_METAINFO_HPP

#include <utility>

#include <corbel/detail/new_task.hpp>
#include <corbel/detail/wait_count.hpp>

namespace corbel {
namespace detail {

// One call of try_put_and_wait; or the waits of two messages that a node has merged into one.
struct message_wait {
  wait_count holds{1};
  message_wait* parts[2] = {nullptr, nullptr};  // both or none

  message_wait() = default;
  message_wait(message_wait& first, message_wait& second) : parts{&first, &second} {}
};

}  // namespace detail

namespace flow {

// Holds the calls of try_put_and_wait that wait for a message and what follows from it: they do not
// return before all copies are destroyed. Empty for an ordinary message: then a copy costs one
// test. Different threads may use different copies at the same time.
class message_metainfo {
 public:
  message_metainfo() = default;
  // Takes over one hold.
  explicit message_metainfo(detail::message_wait* wait) : wait_(wait) {}
  message_metainfo(const message_metainfo& other) : wait_(other.wait_) {
    if (CORBEL_UNLIKELY(wait_ != nullptr)) wait_->holds.reserve();
  }
  message_metainfo(message_metainfo&& other) noexcept : wait_(other.wait_) {
    other.wait_ = nullptr;
  }
  message_metainfo& operator=(const message_metainfo& other) {
    return *this = message_metainfo(other);
  }
  message_metainfo& operator=(message_metainfo&& other) noexcept {
    std::swap(wait_, other.wait_);
    return *this;
  }
  ~message_metainfo() { clear(); }

  // Lets go of all that it holds.
  void clear() {
    if (CORBEL_UNLIKELY(wait_ != nullptr)) release(wait_);
    wait_ = nullptr;
  }
  bool empty() const { return wait_ == nullptr; }

  // Adds what `other` holds, for a message that follows from several. Throws bad_alloc.
  void merge(const message_metainfo& other) {
    if (CORBEL_LIKELY(other.wait_ == nullptr) || other.wait_ == wait_) return;
    if (wait_ == nullptr) {
      *this = other;
      return;
    }
    detail::message_wait* const both =
        detail::new_task<detail::message_wait>(detail::current_thread(), *wait_, *other.wait_);
    other.wait_->holds.reserve();
    wait_ = both;
  }

 private:
  CORBEL_NOINLINE static void release(detail::message_wait* wait) {
    detail::thread_data& thread = detail::current_thread();
    // A call of try_put_and_wait may have returned, and its object be gone, once it is released.
    detail::message_wait* const parts[2] = {wait->parts[0], wait->parts[1]};
    if (parts[0] == nullptr) {
      wait->holds.release(thread);
      return;
    }
    if (!wait->holds.release_unwaited()) return;
    detail::delete_task(thread, wait);
    release(parts[0]);
    release(parts[1]);
  }

  detail::message_wait* wait_ = nullptr;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_METAINFO_HPP
