// SPDX-License-Identifier: Apache-2.0
// The messages that a node keeps, and the orders in which it keeps them. Not for programs to
// include.
#ifndef CORBEL_DETAIL_FLOW_KEPT_MESSAGE_HPP
#define CORBEL_DETAIL_FLOW_KEPT_MESSAGE_HPP

#include <cstddef>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/detail/new_task.hpp>

namespace corbel {
namespace detail {

// A message in a block of its own, so that it keeps its address while it is pushed to successors
// and no lock is held.
template <typename T>
struct kept_message {
  kept_message* next = nullptr;
  flow::message_metainfo metainfo;
  T value;

  kept_message() : value() {}
  kept_message(const T& v, const flow::message_metainfo& m) : metainfo(m), value(v) {}
};

// Owns a message, if any.
template <typename Message>
class message_owner {
 public:
  explicit message_owner(Message* m = nullptr) : message_(m) {}
  ~message_owner() {
    if (message_ != nullptr) delete_task(current_thread(), message_);
  }
  message_owner(const message_owner&) = delete;
  message_owner& operator=(const message_owner&) = delete;

  Message* operator->() const { return message_; }
  Message* get() const { return message_; }
  Message* take() {
    Message* const m = message_;
    message_ = nullptr;
    return m;
  }

 private:
  Message* message_;
};

// A message that an order is about to keep, in a block of its own.
template <typename T>
class new_message : public message_owner<kept_message<T>> {
 public:
  // Throws bad_alloc and what copying the message throws.
  new_message(const T& v, const flow::message_metainfo& info)
      : message_owner<kept_message<T>>(new_task<kept_message<T>>(current_thread(), v, info)) {}
};

// ---- orders -------------------------------------------------------------------------------------
//
// Each has
//   bool push(...)       takes a message, or returns false. May throw; nothing has changed then
//   message* pop()       the message that comes next; nullptr if there is none. May throw what the
//                        program's comparison throws; no message is lost then
//   void put_back(m)     undoes the last pop(), if the message has not ended; does not throw
//   void destroy(m)      ends the message of the last pop(). May be called without the lock
//   void recycle()       called after destroy(), before the next pop()
//   bool has_next()      whether there is a message that pop() returns
//   void clear()         ends all messages, and begins anew
// Not thread-safe.

// What the orders of messages in blocks of their own have.
template <typename Message>
struct linked_messages {
  using message = Message;
  void destroy(Message* m) { delete_task(current_thread(), m); }
  void recycle() {}
};

// First in, first out, of objects that have a member `next`. Does not own them.
template <typename T>
class linked_fifo {
 public:
  void push(T* m) {
    m->next = nullptr;
    *end_ = m;
    end_ = &m->next;
  }

  // Returns nullptr if there is none.
  T* pop() {
    T* const m = first_;
    if (m == nullptr) return nullptr;
    first_ = m->next;
    if (first_ == nullptr) end_ = &first_;
    return m;
  }

  void put_back(T* m) {
    m->next = first_;
    if (first_ == nullptr) end_ = &m->next;
    first_ = m;
  }

  bool empty() const { return first_ == nullptr; }

 private:
  T* first_ = nullptr;
  T** end_ = &first_;
};

// An array of pointers to messages that grows by doubling.
template <typename T>
class message_array {
 public:
  using message = kept_message<T>;

  message_array() = default;
  ~message_array() { deallocate(); }
  message_array(const message_array&) = delete;
  message_array& operator=(const message_array&) = delete;

  std::size_t capacity() const { return capacity_; }
  message*& operator[](std::size_t i) const { return entries_[i]; }

  // Replaces the array by one of `capacity` entries, all of them nullptr except those that
  // move(from, to) stores. Throws bad_alloc; nothing has changed then.
  template <typename Move>
  void grow(std::size_t capacity, Move move) {
    if (capacity > ~std::size_t{0} / (2 * sizeof(message*))) raise(std::bad_alloc());
    message** const grown = static_cast<message**>(allocate_block(capacity * sizeof(message*)));
    for (std::size_t i = 0; i < capacity; ++i) grown[i] = nullptr;
    move(entries_, grown);
    deallocate();
    entries_ = grown;
    capacity_ = capacity;
  }

 private:
  void deallocate() {
    if (entries_ != nullptr) deallocate_block(entries_, capacity_ * sizeof(message*));
  }

  message** entries_ = nullptr;
  std::size_t capacity_ = 0;
};

// The greatest first: a binary heap.
template <typename T, typename Compare>
class priority_order : public linked_messages<kept_message<T>> {
 public:
  using message = kept_message<T>;
  using arrival = new_message<T>;

  priority_order() = default;
  explicit priority_order(const Compare& compare) : compare_(compare) {}
  ~priority_order() { clear(); }

  bool push(arrival& m) {
    // One entry more than there are messages, for the one that put_back may bring.
    if (size_ + 1 >= heap_.capacity()) {
      const std::size_t old = size_;
      heap_.grow(heap_.capacity() == 0 ? kFirstCapacity : 2 * heap_.capacity(),
                 [old](message** from, message** to) {
                   for (std::size_t i = 0; i < old; ++i) to[i] = from[i];
                 });
    }
    const std::size_t place = place_for(*m.get());
    insert(m.take(), place);
    return true;
  }

  message* pop() {
    if (put_back_ != nullptr) {
      // It may no longer be the greatest. There is room, which push has made.
      insert(put_back_, place_for(*put_back_));
      put_back_ = nullptr;
    }
    if (size_ == 0) return nullptr;
    message* const last = heap_[size_ - 1];
    // The path on which the last message moves down, as the index of its end.
    const std::size_t end = size_ - 1;
    std::size_t place = 0;
    for (std::size_t child = 1; child < end; child = 2 * place + 1) {
      if (child + 1 < end && compare_(heap_[child]->value, heap_[child + 1]->value)) ++child;
      if (!compare_(last->value, heap_[child]->value)) break;
      place = child;
    }
    message* const first = heap_[0];
    shift_up(place);
    if (end != 0) heap_[place] = last;
    size_ = end;
    return first;
  }

  void put_back(message* m) { put_back_ = m; }

  bool has_next() const { return size_ != 0 || put_back_ != nullptr; }

  void clear() {
    while (size_ != 0) this->destroy(heap_[--size_]);
    if (put_back_ != nullptr) this->destroy(put_back_);
    put_back_ = nullptr;
  }

 private:
  static constexpr std::size_t kFirstCapacity = 8;

  // Where a new message goes on the path from the end to the root.
  std::size_t place_for(const message& m) const {
    std::size_t place = size_;
    while (place > 0 && compare_(heap_[(place - 1) / 2]->value, m.value)) place = (place - 1) / 2;
    return place;
  }

  // Inserts `m`, after the comparisons, which may throw.
  void insert(message* m, std::size_t place) {
    std::size_t i = size_++;
    for (; i != place; i = (i - 1) / 2) heap_[i] = heap_[(i - 1) / 2];
    heap_[place] = m;
  }

  // Moves the entries on the path from `place` to the root up by one level; the root is lost.
  void shift_up(std::size_t place) {
    message* moved = heap_[place];
    while (place > 0) {
      place = (place - 1) / 2;
      std::swap(moved, heap_[place]);
    }
  }

  message_array<T> heap_;
  std::size_t size_ = 0;
  message* put_back_ = nullptr;
  Compare compare_{};
};

// By sequence number, from 0 on, without gaps.
template <typename T>
class sequence_order : public linked_messages<kept_message<T>> {
 public:
  using message = kept_message<T>;
  using arrival = new_message<T>;

  sequence_order() = default;
  ~sequence_order() { clear(); }

  // Returns false if the number has been used since the last clear().
  bool push(arrival& m, std::size_t number) {
    if (number < next_) return false;
    const std::size_t distance = number - next_;
    // One entry more, for the message that put_back may bring.
    if (distance + 1 >= window_.capacity()) grow(distance + 2);
    message*& entry = at(number);
    if (entry != nullptr) return false;
    entry = m.take();
    return true;
  }

  message* pop() {
    if (window_.capacity() == 0) return nullptr;
    message*& entry = at(next_);
    message* const m = entry;
    if (m == nullptr) return nullptr;
    entry = nullptr;
    ++next_;
    return m;
  }

  void put_back(message* m) { at(--next_) = m; }

  bool has_next() const { return window_.capacity() != 0 && at(next_) != nullptr; }

  void clear() {
    for (std::size_t i = 0; i < window_.capacity(); ++i) {
      if (window_[i] != nullptr) this->destroy(window_[i]);
      window_[i] = nullptr;
    }
    next_ = 0;
  }

 private:
  static constexpr std::size_t kFirstCapacity = 8;

  message*& at(std::size_t number) const { return window_[number & (window_.capacity() - 1)]; }

  void grow(std::size_t needed) {
    std::size_t capacity = window_.capacity() == 0 ? kFirstCapacity : window_.capacity();
    while (capacity < needed && capacity <= ~std::size_t{0} / 2) capacity *= 2;
    if (capacity < needed) raise(std::bad_alloc());
    const std::size_t old = window_.capacity(), first = next_;
    window_.grow(capacity, [=](message** from, message** to) {
      for (std::size_t i = 0; i < old; ++i)
        to[(first + i) & (capacity - 1)] = from[(first + i) & (old - 1)];
    });
  }

  message_array<T> window_;  // the message of number n is at n modulo the capacity
  std::size_t next_ = 0;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_KEPT_MESSAGE_HPP
