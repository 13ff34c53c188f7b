// SPDX-License-Identifier: Apache-2.0
// Queues of messages that lie in chunks, so that a message keeps its address. Not for programs to
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

// Messages in the order in which they were appended. Chunks grow up to a limit while the queue
// does; an empty queue keeps at most a chunk of the first size. Not thread-safe.
template <typename Message>
class message_chunks {
 public:
  struct chunk {
    chunk* next;
    std::uint32_t capacity;

    static constexpr std::size_t first_message() {
      return (sizeof(chunk) + alignof(Message) - 1) / alignof(Message) * alignof(Message);
    }
    static constexpr std::size_t bytes_for(std::size_t capacity) {
      return first_message() + capacity * sizeof(Message);
    }
    Message* at(std::uint32_t i) {
      return reinterpret_cast<Message*>(reinterpret_cast<unsigned char*>(this) + first_message()) +
             i;
    }
  };
  // Where a message is, or will be. At the end of a chunk it means the first of the next one. A
  // null chunk is the end of an empty queue.
  struct position {
    chunk* in;
    std::uint32_t index;
    position(chunk* c = nullptr, std::uint32_t i = 0) : in(c), index(i) {}
  };

  message_chunks() = default;
  message_chunks(const message_chunks&) = delete;
  message_chunks& operator=(const message_chunks&) = delete;
  // All messages have ended.
  ~message_chunks() {
    while (chunk* const c = first_) {
      first_ = c->next;
      deallocate(c);
    }
  }

  bool empty() const {
    if (CORBEL_LIKELY(first_ == last_)) return begin_ == end_;
    // The last chunk is empty if the constructor of its first message has thrown.
    return begin_ == first_->capacity && first_->next == last_ && end_ == 0;
  }
  // The first message; the queue must not be empty.
  Message& front() const { return *first_->at(begin_); }

  // Constructs a message at the end. Throws bad_alloc and what the constructor throws; nothing has
  // changed then.
  template <typename... Arguments>
  Message& append(const Arguments&... arguments) {
    if (CORBEL_UNLIKELY(first_ == nullptr || end_ == last_->capacity)) add_chunk();
    Message* const m = ::new (static_cast<void*>(last_->at(end_))) Message(arguments...);
    ++end_;
    return *m;
  }

  // Removes the first message, but leaves it where it is; put_back undoes this.
  Message* pop() { return first_->at(begin_++); }
  void put_back() { --begin_; }

  // Called when the message of the last pop has ended. Calls moved(from, to) if `from`, the end of
  // a chunk that is no longer used, has become `to`.
  template <typename Moved>
  void recycle(const Moved& moved) {
    if (CORBEL_LIKELY(first_ != last_)) {
      if (begin_ != first_->capacity) return;
      chunk* const empty = first_;
      first_ = empty->next;
      begin_ = 0;
      moved(empty, position{first_, 0});
      deallocate(empty);
    } else if (begin_ == end_) {
      begin_ = end_ = 0;
      chunk* const kept = first_->capacity == kFirstCapacity ? first_ : nullptr;
      moved(first_, position{kept, 0});
      if (CORBEL_LIKELY(kept != nullptr)) return;
      deallocate(first_);
      first_ = last_ = nullptr;
    }
  }

  // Returns the message at `at`, and moves `at` to the next one; nullptr at the end.
  Message* next(position& at) const {
    normalize(at);
    if (at.in == nullptr || (at.in == last_ && at.index == end_)) return nullptr;
    return at.in->at(at.index++);
  }

 private:
  static_assert(alignof(Message) <= kCacheLine, "blocks are aligned to cache lines");
  static constexpr std::size_t kMaxBytes = 4096;
  static constexpr std::uint32_t kFirstCapacity = 4;

  void normalize(position& at) const {
    if (at.in == nullptr) {
      at = position{first_, 0};
    } else if (at.index == at.in->capacity && at.in->next != nullptr) {
      at = position{at.in->next, 0};
    }
  }

  static void deallocate(chunk* c) {
    deallocate_task(current_thread(), c, chunk::bytes_for(c->capacity));
  }

  CORBEL_NOINLINE void add_chunk() {
    std::uint32_t capacity = kFirstCapacity;
    if (first_ != nullptr) {
      capacity = last_->capacity;
      if (chunk::bytes_for(2 * std::size_t{capacity}) <= kMaxBytes) capacity *= 2;
    }
    chunk* const added = ::new (allocate_task(current_thread(), chunk::bytes_for(capacity)))
        chunk{nullptr, capacity};
    (first_ == nullptr ? first_ : last_->next) = added;
    last_ = added;
    end_ = 0;
  }

  chunk* first_ = nullptr;
  chunk* last_ = nullptr;
  std::uint32_t begin_ = 0;  // in the first chunk
  std::uint32_t end_ = 0;    // in the last chunk
};

// A message of a queue.
template <typename T>
struct queued_message {
  flow::message_metainfo metainfo;
  T value;
  queued_message(const T& v, const flow::message_metainfo& info) : metainfo(info), value(v) {}
};

// First in, first out: an order (kept_message.hpp).
template <typename T>
class message_queue {
 public:
  using message = queued_message<T>;
  // A message that the queue is about to copy.
  struct arrival {
    const T& value;
    const flow::message_metainfo& metainfo;
    arrival(const T& v, const flow::message_metainfo& info) : value(v), metainfo(info) {}
  };

  ~message_queue() { clear(); }

  bool push(const arrival& from) {
    messages_.append(from.value, from.metainfo);
    return true;
  }
  message* pop() { return has_next() ? messages_.pop() : nullptr; }
  void put_back(message*) { messages_.put_back(); }
  void destroy(message* m) { m->~message(); }
  void recycle() {
    using chunks = message_chunks<message>;
    messages_.recycle([](typename chunks::chunk*, typename chunks::position) {});
  }
  bool has_next() const { return !messages_.empty(); }

  void clear() {
    while (message* const m = pop()) {
      destroy(m);
      recycle();
    }
  }

 private:
  message_chunks<message> messages_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_MESSAGE_QUEUE_HPP
