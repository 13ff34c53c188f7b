// SPDX-License-Identifier: Apache-2.0
// Iterators and ranges over the elements of concurrent_hash_map. Not for programs to include.
#ifndef CORBEL_DETAIL_HASH_MAP_ITERATOR_HPP
#define CORBEL_DETAIL_HASH_MAP_ITERATOR_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <corbel/detail/config.hpp>
#include <corbel/detail/hash_map_memory.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// A forward iterator ([forward.iterators]). Value is the value_type of the map, const or not.
template <typename Value>
class hash_map_iterator {
  using mutable_value = typename std::remove_const<Value>::type;
  using node = hash_map_node<mutable_value>;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = mutable_value;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  // Equals the end of every map.
  hash_map_iterator() = default;
  // Points to `n`, which is in the given bucket; if that is nullptr, to the first element of that
  // bucket or of a later one.
  hash_map_iterator(const hash_buckets& buckets, std::size_t bucket, hashed_node* n)
      : buckets_(&buckets), bucket_(bucket), node_(n) {
    if (node_ == nullptr) to_bucket();
  }
  // Converts iterator to const_iterator.
  template <typename Other,
            typename = typename std::enable_if<std::is_same<Other, mutable_value>::value &&
                                               !std::is_same<Other, Value>::value>::type>
  hash_map_iterator(const hash_map_iterator<Other>& other)
      : buckets_(other.buckets_), bucket_(other.bucket_), node_(other.node_) {}

  reference operator*() const { return static_cast<node*>(node_)->value(); }
  pointer operator->() const { return static_cast<node*>(node_)->address(); }

  hash_map_iterator& operator++() {
    if (CORBEL_UNLIKELY(!to_next())) {
      // Insertions after the iterator was made have moved the element to another bucket.
      bucket_ = buckets_->bucket_of(node_->hash);
      to_next();
    }
    return *this;
  }
  hash_map_iterator operator++(int) {
    const hash_map_iterator before = *this;
    ++*this;
    return before;
  }

  template <typename Other>
  bool operator==(const hash_map_iterator<Other>& other) const {
    return node_ == other.node_;
  }
  template <typename Other>
  bool operator!=(const hash_map_iterator<Other>& other) const {
    return node_ != other.node_;
  }

 private:
  template <typename>
  friend class hash_map_iterator;
  template <typename>
  friend class hash_map_range;

  // Goes to the next element. Returns false if this one is not in its bucket.
  bool to_next() {
    bool is_after = false;
    hashed_node* next = nullptr;
    buckets_->for_each_in(bucket_, [&](hashed_node* n) {
      if (is_after) next = n;
      is_after = is_after || n == node_;
      return next != nullptr;
    });
    if (!is_after) return false;
    node_ = next;
    if (next == nullptr) {
      ++bucket_;
      to_bucket();
    }
    return true;
  }
  void to_bucket() {
    for (const std::size_t end = buckets_->count(); bucket_ < end; ++bucket_) {
      buckets_->for_each_in(bucket_, [this](hashed_node* n) {
        node_ = n;
        return true;
      });
      if (node_ != nullptr) return;
    }
  }

  const hash_buckets* buckets_ = nullptr;
  std::size_t bucket_ = 0;
  hashed_node* node_ = nullptr;
};

// The elements between two iterators; splits at the bucket in the middle.
template <typename Iterator>
class hash_map_range {
 public:
  using iterator = Iterator;
  using value_type = typename Iterator::value_type;
  using reference = typename Iterator::reference;
  using difference_type = typename Iterator::difference_type;
  using size_type = std::size_t;

  // All elements of `map`, which is not divisible if bucket_count() is `grainsize` or less.
  template <typename Map>
  explicit hash_map_range(Map& map, size_type grainsize = 1)
      : begin_(map.begin()), middle_(), end_(map.end()), grainsize_(grainsize) {
    CORBEL_ASSERT(grainsize_ > 0, "a grainsize must be positive");
    find_middle();
  }

  // Takes the second half of `whole`, which must be divisible and keeps the first.
  hash_map_range(hash_map_range& whole, split)
      : begin_(whole.middle_), middle_(), end_(whole.end_), grainsize_(whole.grainsize_) {
    CORBEL_ASSERT(whole.is_divisible(), "a range that is not divisible is split");
    whole.end_ = begin_;
    find_middle();
    whole.find_middle();
  }

  // Converts a range of iterator to one of const_iterator.
  template <typename Other,
            typename = typename std::enable_if<std::is_convertible<Other, Iterator>::value &&
                                               !std::is_same<Other, Iterator>::value>::type>
  hash_map_range(const hash_map_range<Other>& other)
      : begin_(other.begin_),
        middle_(other.middle_),
        end_(other.end_),
        grainsize_(other.grainsize_) {}

  // Whether there are no elements.
  bool empty() const { return begin_ == end_; }
  // Whether the splitting constructor may be called: each half gets an element.
  bool is_divisible() const { return middle_ != end_; }
  // The first element, and the one after the last.
  const Iterator& begin() const { return begin_; }
  const Iterator& end() const { return end_; }
  // The part of bucket_count() down to which the range is divisible.
  size_type grainsize() const { return grainsize_; }

 private:
  template <typename>
  friend class hash_map_range;

  void find_middle() {
    const size_type first = begin_.bucket_;
    size_type buckets = begin_ == end_ ? 0 : end_.bucket_ - first;
    // Again in the first half if the second is empty.
    for (; buckets > 1 && buckets * hash_buckets_sizes::kNodes > grainsize_; buckets /= 2) {
      middle_ = Iterator(*begin_.buckets_, first + buckets / 2, nullptr);
      if (middle_ != end_) return;
    }
    middle_ = end_;
  }

  Iterator begin_;
  Iterator middle_;
  Iterator end_;
  size_type grainsize_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HASH_MAP_ITERATOR_HPP
