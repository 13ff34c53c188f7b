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

namespace corbel {
namespace detail {

// A tuple to which messages are missing.
template <typename Tuple>
struct queued_row {
  queued_row* next = nullptr;
  flow::message_metainfo metainfo;
  std::size_t missing = std::tuple_size<Tuple>::value;
  Tuple value;

  queued_row() : value() {}
};

// The n-th message of each port belongs to the n-th tuple. The messages of a port are complete from
// the front, so the tuples are completed in their order.
template <typename Tuple>
class queueing_order : public linked_messages<queued_row<Tuple>> {
 public:
  using message = queued_row<Tuple>;

  queueing_order() = default;
  ~queueing_order() { clear(); }
  queueing_order(const queueing_order&) = delete;
  queueing_order& operator=(const queueing_order&) = delete;

  // Adds a message that port I has got. Throws bad_alloc and what the assignment throws; the message
  // has not been added then.
  template <std::size_t I, typename T>
  bool push(const T& v, const flow::message_metainfo& info) {
    if (next_rows_[I] == nullptr) append();
    message* const row = next_rows_[I];
    std::get<I>(row->value) = v;
    row->metainfo.merge(info);
    next_rows_[I] = row->next;
    --row->missing;
    return true;
  }

  message* pop() {
    message* const row = first_;
    if (!has_next()) return nullptr;
    first_ = row->next;
    if (first_ == nullptr) last_ = nullptr;
    return row;
  }

  void put_back(message* row) {
    row->next = first_;
    if (first_ == nullptr) last_ = row;
    first_ = row;
  }

  bool has_next() const { return first_ != nullptr && first_->missing == 0; }

  void clear() {
    while (message* const row = first_) {
      first_ = row->next;
      this->destroy(row);
    }
    last_ = nullptr;
    for (message*& row : next_rows_) row = nullptr;
  }

 private:
  // Appends a row, to which all ports that have no other one go next.
  void append() {
    message* const row = new_task<message>(current_thread());
    (last_ == nullptr ? first_ : last_->next) = row;
    last_ = row;
    for (message*& port : next_rows_) {
      if (port == nullptr) port = row;
    }
  }

  message* first_ = nullptr;
  message* last_ = nullptr;
  // For each port the row of its next message; nullptr: one that does not exist yet.
  message* next_rows_[std::tuple_size<Tuple>::value] = {};
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
