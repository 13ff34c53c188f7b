// SPDX-License-Identifier: Apache-2.0
// A queue of messages that lie in chunks, so that a message keeps its address. Not for programs to
// include.
#ifndef CORBEL_DETAIL_FLOW_MESSAGE_QUEUE_HPP
#define CORBEL_DETAIL_FLOW_MESSAGE_QUEUE_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// First in, first out: an order (kept_message.hpp). Chunks grow up to a limit while the queue does;
// an empty queue keeps at most a chunk of the first size.
template <typename T>
class message_queue {
 public:
  struct message {
    flow::message_metainfo metainfo;
    T value;
    message(const T& v, const flow::message_metainfo& info) : metainfo(info), value(v) {}
  };
  // A message that the queue is about to copy.
  struct arrival {
    const T& value;
    const flow::message_metainfo& metainfo;
    arrival(const T& v, const flow::message_metainfo& info) : value(v), metainfo(info) {}
  };

  message_queue() = default;
  message_queue(const message_queue&) = delete;
  message_queue& operator=(const message_queue&) = delete;
  ~message_queue() {
    clear();
    if (first_ != nullptr) deallocate(first_);
  }

  // Copies the message. Throws bad_alloc and what copying throws; nothing has changed then.
  bool push(const arrival& from) {
    if (CORBEL_UNLIKELY(first_ == nullptr || end_ == last_->capacity)) append();
    ::new (static_cast<void*>(last_->at(end_))) message(from.value, from.metainfo);
    ++end_;
    return true;
  }

  message* pop() { return has_next() ? first_->at(begin_++) : nullptr; }
  void put_back(message*) { --begin_; }
  void destroy(message* m) { m->~message(); }

  void recycle() {
    if (CORBEL_LIKELY(first_ != last_)) {
      if (begin_ != first_->capacity) return;
      chunk* const empty = first_;
      first_ = empty->next;
      begin_ = 0;
      deallocate(empty);
    } else if (begin_ == end_) {
      begin_ = end_ = 0;
      if (CORBEL_LIKELY(first_->capacity == kFirstCapacity)) return;
      deallocate(first_);
      first_ = last_ = nullptr;
    }
  }

  bool has_next() const {
    if (CORBEL_LIKELY(first_ == last_)) return begin_ != end_;
    // The last chunk is empty if the copy of its first message has thrown.
    return begin_ != first_->capacity || first_->next != last_ || end_ != 0;
  }

  void clear() {
    while (message* const m = pop()) {
      destroy(m);
      recycle();
    }
  }

 private:
  struct chunk {
    chunk* next;
    std::uint32_t capacity;

    static constexpr std::size_t first_message() {
      return (sizeof(chunk) + alignof(message) - 1) / alignof(message) * alignof(message);
    }
    static std::size_t bytes_for(std::size_t capacity) {
      return first_message() + capacity * sizeof(message);
    }
    message* at(std::uint32_t i) {
      return reinterpret_cast<message*>(reinterpret_cast<unsigned char*>(this) + first_message()) +
             i;
    }
  };
  static_assert(alignof(message) <= kCacheLine, "blocks are aligned to cache lines");

  static constexpr std::uint32_t capacity_in(std::size_t bytes) {
    return bytes < chunk::first_message() + 2 * sizeof(message)
               ? 2
               : std::uint32_t((bytes - chunk::first_message()) / sizeof(message));
  }
  static constexpr std::size_t kMaxBytes = 4096;
  static constexpr std::uint32_t kFirstCapacity = 4;

  static void deallocate(chunk* c) {
    deallocate_task(current_thread(), c, chunk::bytes_for(c->capacity));
  }

  CORBEL_NOINLINE void append() {
    std::uint32_t capacity = kFirstCapacity;
    if (first_ != nullptr) {
      const std::uint32_t most = capacity_in(kMaxBytes);
      capacity = 2 * last_->capacity < most ? 2 * last_->capacity : most;
      if (capacity < kFirstCapacity) capacity = kFirstCapacity;
    }
    chunk* const added = ::new (allocate_task(current_thread(), chunk::bytes_for(capacity)))
        chunk{nullptr, capacity};
    if (first_ == nullptr) {
      first_ = added;
      begin_ = 0;
    } else {
      last_->next = added;
    }
    last_ = added;
    end_ = 0;
  }

  chunk* first_ = nullptr;
  chunk* last_ = nullptr;
  std::uint32_t begin_ = 0;  // in the first chunk
  std::uint32_t end_ = 0;    // in the last chunk
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_MESSAGE_QUEUE_HPP
