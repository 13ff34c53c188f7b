// SPDX-License-Identifier: Apache-2.0
// The nodes that were unlinked from a container and that threads may still read. Not for programs
// to include.
#ifndef CORBEL_DETAIL_RETIRED_NODES_HPP
#define CORBEL_DETAIL_RETIRED_NODES_HPP

#include <cstddef>

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/epoch.hpp>

namespace corbel {
namespace detail {

// Waits until no reading section that began before the call is still running.
inline void wait_for_readers() noexcept {
  const epoch_number epoch = retire_epoch();
  spin_until([epoch] { return has_passed(epoch); });
}

// Nodes, in batches: when one is full, those of earlier batches are freed that no thread reads any
// more, at the cost of a process barrier for all of them. The batches of a container begin small
// and grow. Node is a pointer, or a word that says what to free. `Source` frees it, and allocates
// and frees batches, in words: free_node(Node), allocate_batch(n) -> void* or nullptr,
// free_batch(void*, n). Not thread-safe.
template <typename Node>
class retired_nodes {
 public:
  struct batch {
    batch* next;
    epoch_number epoch;
    std::size_t count;
    std::size_t capacity;

    // They follow.
    Node* nodes() noexcept { return reinterpret_cast<Node*>(this + 1); }
  };

  retired_nodes() noexcept : open_(nullptr), full_(nullptr), capacity_(kFirstCapacity) {}
  retired_nodes(const retired_nodes&) = delete;
  retired_nodes& operator=(const retired_nodes&) = delete;

  // Adds a node. Returns false if it lacks a batch for that; if `spare` is not nullptr it takes
  // that one instead, and sets it to nullptr. Sets `old` to batches for reclaim(), if there are
  // any. That, make_batch() and free_batch() call the program's allocator: without the lock that
  // protects this object.
  bool add(Node node, batch*& spare, batch*& old) noexcept {
    if (open_ == nullptr) {
      if (spare == nullptr) return false;
      open_ = spare;
      spare = nullptr;
      if (capacity_ < kMaxCapacity) capacity_ *= 2;
    }
    open_->nodes()[open_->count++] = node;
    if (open_->count < open_->capacity) return true;
    open_->epoch = retire_epoch();
    old = full_;
    open_->next = nullptr;
    full_ = open_;
    open_ = nullptr;
    return true;
  }

  // The capacity of the batch that add() needs next.
  std::size_t next_capacity() const noexcept { return capacity_; }

  // Returns an empty batch, or nullptr if there is no memory.
  template <typename Source>
  static batch* make_batch(std::size_t capacity, Source& source) noexcept {
    batch* const made = static_cast<batch*>(source.allocate_batch(words_of(capacity)));
    if (made == nullptr) return nullptr;
    made->count = 0;
    made->capacity = capacity;
    return made;
  }
  template <typename Source>
  static void free_batch(batch* freed, Source& source) noexcept {
    source.free_batch(freed, words_of(freed->capacity));
  }

  // Frees the nodes of those batches of the list that no thread reads any more. Returns the others.
  template <typename Source>
  static batch* reclaim(batch* list, Source& source) noexcept {
    epoch_number newest = 0;
    for (batch* b = list; b != nullptr; b = b->next) newest = b->epoch > newest ? b->epoch : newest;
    // One barrier for all: it finds how many epochs have passed.
    has_passed(newest);
    batch* kept = nullptr;
    while (list != nullptr) {
      batch* const next = list->next;
      if (is_known_passed(list->epoch)) {
        free_all(list, source);
      } else {
        list->next = kept;
        kept = list;
      }
      list = next;
    }
    return kept;
  }

  // Takes a list of batches that cannot be freed yet.
  void give_back(batch* list) noexcept {
    while (list != nullptr) {
      batch* const next = list->next;
      list->next = full_;
      full_ = list;
      list = next;
    }
  }

  // Frees all nodes. No thread reads any.
  template <typename Source>
  void clear(Source& source) noexcept {
    if (open_ != nullptr) free_all(open_, source);
    while (full_ != nullptr) {
      batch* const next = full_->next;
      free_all(full_, source);
      full_ = next;
    }
    open_ = nullptr;
  }

  void swap(retired_nodes& other) noexcept {
    batch* const open = open_;
    batch* const full = full_;
    open_ = other.open_;
    full_ = other.full_;
    other.open_ = open;
    other.full_ = full;
  }

 private:
  static constexpr std::size_t kFirstCapacity = 12;
  static constexpr std::size_t kMaxCapacity = 16 * kFirstCapacity;

  // The size of a batch.
  static constexpr std::size_t words_of(std::size_t capacity) noexcept {
    return capacity + sizeof(batch) / sizeof(void*);
  }

  template <typename Source>
  static void free_all(batch* freed, Source& source) noexcept {
    for (std::size_t i = 0; i < freed->count; ++i) source.free_node(freed->nodes()[i]);
    free_batch(freed, source);
  }

  batch* open_;  // being filled
  batch* full_;
  std::size_t capacity_;  // of the next batch
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_RETIRED_NODES_HPP
