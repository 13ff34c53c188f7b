// SPDX-License-Identifier: Apache-2.0
// How queueing and key matching join nodes put tuples together: the orders of their output buffers.
// Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_JOIN_ROWS_HPP
#define CORBEL_DETAIL_FLOW_JOIN_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <corbel/detail/flow/kept_message.hpp>
#include <corbel/detail/flow/message_queue.hpp>

namespace corbel {
namespace detail {

// A tuple to which messages are missing.
template <typename Tuple>
struct queued_row {
  flow::message_metainfo metainfo;
  std::size_t missing = std::tuple_size<Tuple>::value;
  Tuple value;

  queued_row() : value() {}
};

// The n-th message of each port belongs to the n-th tuple. The messages of a port are complete from
// the front, so the tuples are completed in their order.
template <typename Tuple>
class queueing_order {
 public:
  using message = queued_row<Tuple>;

  queueing_order() = default;
  queueing_order(const queueing_order&) = delete;
  queueing_order& operator=(const queueing_order&) = delete;
  ~queueing_order() { clear(); }

  // Adds a message that port I has got. Throws bad_alloc and what the assignment throws; the
  // message has not been added then.
  template <std::size_t I, typename T>
  bool push(const T& v, const flow::message_metainfo& info) {
    typename rows::position at = ends_[I];
    message* row = rows_.next(at);
    if (row == nullptr) {
      rows_.append();
      row = rows_.next(at);
    }
    std::get<I>(row->value) = v;
    row->metainfo.merge(info);
    ends_[I] = at;
    --row->missing;
    return true;
  }

  message* pop() { return has_next() ? rows_.pop() : nullptr; }
  void put_back(message*) { rows_.put_back(); }
  void destroy(message* row) { row->~message(); }
  void recycle() {
    rows_.recycle([this](typename rows::chunk* from, typename rows::position to) {
      for (typename rows::position& end : ends_) {
        if (end.in == from) end = to;
      }
    });
  }
  bool has_next() const { return !rows_.empty() && rows_.front().missing == 0; }

  void clear() {
    while (!rows_.empty()) {
      destroy(rows_.pop());
      recycle();
    }
    for (typename rows::position& end : ends_) end = typename rows::position();
  }

 private:
  using rows = message_chunks<message>;

  rows rows_;
  // For each port the end of its messages.
  typename rows::position ends_[std::tuple_size<Tuple>::value];
};

// A tuple of messages with the same key.
template <typename Tuple, typename Key>
struct keyed_row {
  static constexpr std::size_t kPorts = std::tuple_size<Tuple>::value;

  keyed_row* next = nullptr;  // in the table, then in the order
  flow::message_metainfo metainfo;
  std::size_t missing = kPorts;
  std::size_t hash;
  bool has[kPorts] = {};
  Key key;
  Tuple value;

  keyed_row(const Key& k, std::size_t h) : hash(h), key(k), value() {}
};

// The tuples in the order in which they were completed.
template <typename Tuple, typename Key, typename HashCompare>
class keyed_order : public linked_messages<keyed_row<Tuple, Key>> {
 public:
  using message = keyed_row<Tuple, Key>;

  keyed_order() = default;
  keyed_order(const keyed_order&) = delete;
  keyed_order& operator=(const keyed_order&) = delete;
  ~keyed_order() {
    clear();
    free_table();
  }

  // Adds a message with this key and hash that port I has got. Returns false if the port has one
  // with this key already. Throws bad_alloc and what copying and comparing keys, and assigning
  // messages, throws; the message has not been added then.
  template <std::size_t I, typename T>
  bool push(const T& v, const flow::message_metainfo& info, const Key& key, std::size_t hash) {
    message** const place = find(key, hash);
    message* const row = *place;
    if (row->has[I]) return false;
    std::get<I>(row->value) = v;
    row->metainfo.merge(info);
    row->has[I] = true;
    if (--row->missing == 0) {
      *place = row->next;
      --size_;
      complete_.push(row);
    }
    return true;
  }

  message* pop() { return complete_.pop(); }
  void put_back(message* row) { complete_.put_back(row); }
  bool has_next() const { return !complete_.empty(); }

  void clear() {
    while (message* const row = complete_.pop()) this->destroy(row);
    for (std::size_t i = 0; i < capacity_; ++i) {
      while (message* const row = table_[i]) {
        table_[i] = row->next;
        this->destroy(row);
      }
    }
    size_ = 0;
  }

 private:
  static constexpr std::size_t kFirstCapacity = 16;

  // Returns the pointer to the row of this key, which is made if there is none.
  message** find(const Key& key, std::size_t hash) {
    if (size_ >= capacity_) grow();
    message** const head = &table_[place_of(hash, capacity_)];
    for (message** at = head; *at != nullptr; at = &(*at)->next) {
      if ((*at)->hash == hash && hash_compare_.equal((*at)->key, key)) return at;
    }
    message* const row = new_task<message>(current_thread(), key, hash);
    row->next = *head;
    *head = row;
    ++size_;
    return head;
  }

  void grow() {
    const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
    message** const table = static_cast<message**>(allocate_block(capacity * sizeof(message*)));
    for (std::size_t i = 0; i < capacity; ++i) table[i] = nullptr;
    for (std::size_t i = 0; i < capacity_; ++i) {
      while (message* const row = table_[i]) {
        table_[i] = row->next;
        message*& head = table[place_of(row->hash, capacity)];
        row->next = head;
        head = row;
      }
    }
    free_table();
    table_ = table;
    capacity_ = capacity;
  }

  // Spreads the upper bits of the hash, as many programs hash integers to themselves.
  static std::size_t place_of(std::size_t hash, std::size_t capacity) {
    return ((hash * static_cast<std::size_t>(0x9E3779B97F4A7C15U)) >> (sizeof(hash) * 4)) &
           (capacity - 1);
  }

  void free_table() {
    if (table_ != nullptr) deallocate_block(table_, capacity_ * sizeof(message*));
  }

  message** table_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  linked_fifo<message> complete_;
  HashCompare hash_compare_{};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_JOIN_ROWS_HPP
