// SPDX-License-Identifier: Apache-2.0
// Where a pipeline hands a token to a thread of the program, which calls the filter itself. Not for
// programs to include.
#ifndef CORBEL_DETAIL_OUTSIDE_SLOT_HPP
#define CORBEL_DETAIL_OUTSIDE_SLOT_HPP

#include <atomic>
#include <cstdint>

#include <corbel/detail/wait_on_address.hpp>
#include <corbel/mutex.hpp>

namespace corbel {
namespace detail {

struct token;
class pipeline_call;

// Belongs to a filter, whose gate admits one token at a time. Thread-safe.
class outside_slot {
 public:
  outside_slot() = default;
  outside_slot(const outside_slot&) = delete;
  outside_slot& operator=(const outside_slot&) = delete;

  // ---- for the pipeline

  // Called when it begins to run, for the first time or again.
  void open() {
    mutex::scoped_lock lock(mutex_);
    closed_ = false;
  }

  // Hands a token out. Returns false if the slot is closed.
  bool offer(pipeline_call& call, token& t) {
    {
      mutex::scoped_lock lock(mutex_);
      if (closed_) return false;
      call_ = &call;
      token_ = &t;
    }
    wake();
    return true;
  }

  // Called when it has ended, is cancelled or could not begin. Returns the token if no thread has
  // taken it.
  token* close() {
    token* left;
    {
      mutex::scoped_lock lock(mutex_);
      closed_ = true;
      left = token_;
      token_ = nullptr;
    }
    wake();
    return left;
  }

  // ---- for the thread that calls the filter

  // What take() has found: a token, or that there is none yet, or that the slot is closed. The call
  // exists until it has got the token back.
  struct found {
    token* taken;
    pipeline_call* call;
    bool is_closed;
  };

  // If `waits`, returns a token, or that the slot is closed.
  found take(bool waits) {
    for (;;) {
      // (1) acquire: the changes made before (2) are found below, or (2) changes the number
      const std::uint32_t seen = changes_.load(std::memory_order_acquire);
      {
        mutex::scoped_lock lock(mutex_);
        const found now = {token_, call_, closed_};
        token_ = nullptr;
        if (!waits || now.taken != nullptr || now.is_closed) return now;
      }
      wait_on_address(changes_, seen);
    }
  }

 private:
  void wake() {
    changes_.fetch_add(1, std::memory_order_release);  // (2) release: orders the change before (1)
    wake_all_by_address(changes_);
  }

  mutex mutex_;  // protects the members below
  pipeline_call* call_ = nullptr;
  token* token_ = nullptr;
  bool closed_ = false;

  std::atomic<std::uint32_t> changes_{0};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_OUTSIDE_SLOT_HPP
