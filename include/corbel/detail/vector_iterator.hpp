// SPDX-License-Identifier: Apache-2.0
// The iterator of concurrent_vector. Not for programs to include.
#ifndef CORBEL_DETAIL_VECTOR_ITERATOR_HPP
#define CORBEL_DETAIL_VECTOR_ITERATOR_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// A random access iterator ([random.access.iterators]). Value is T or const T. It holds the index
// of an element, and where the element's segment lies once it has been incremented or decremented:
// then both cost a comparison more than with a pointer, until it leaves the segment. Stays valid
// while the vector grows, at the end of the vector, too.
template <typename Storage, typename Value>
class vector_iterator {
  template <typename, typename>
  friend class vector_iterator;

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename std::remove_const<Value>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  vector_iterator() = default;
  vector_iterator(const Storage* storage, std::size_t index) noexcept
      : storage_(storage), index_(index) {}
  // Converts iterator to const_iterator.
  template <typename Other,
            typename = typename std::enable_if<std::is_const<Value>::value &&
                                               std::is_same<const Other, Value>::value>::type>
  vector_iterator(const vector_iterator<Storage, Other>& other) noexcept
      : storage_(other.storage_),
        index_(other.index_),
        segment_(other.segment_),
        limit_(other.limit_) {}

  reference operator*() const noexcept {
    std::uintptr_t segment = segment_;
    // Several threads may use the iterator, so this access must not change it.
    if (CORBEL_UNLIKELY(index_ >= limit_)) segment = storage_->segment_with(index_);
    return *Storage::element_in(segment, index_);
  }
  pointer operator->() const noexcept { return std::addressof(**this); }
  reference operator[](difference_type n) const noexcept {
    return storage_->element(index_ + static_cast<std::size_t>(n));
  }

  vector_iterator& operator++() noexcept {
    ++index_;
    if (CORBEL_UNLIKELY(index_ >= limit_)) find_segment();
    return *this;
  }
  vector_iterator& operator--() noexcept {
    --index_;
    if (CORBEL_UNLIKELY(index_ < limit_ / 2 || index_ >= limit_)) find_segment();
    return *this;
  }
  vector_iterator& operator+=(difference_type n) noexcept {
    index_ += static_cast<std::size_t>(n);
    if (index_ < limit_ / 2) limit_ = 0;
    return *this;
  }
  vector_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  vector_iterator operator++(int) noexcept {
    vector_iterator before = *this;
    ++*this;
    return before;
  }
  vector_iterator operator--(int) noexcept {
    vector_iterator before = *this;
    --*this;
    return before;
  }
  friend vector_iterator operator+(vector_iterator it, difference_type n) noexcept {
    return it += n;
  }
  friend vector_iterator operator+(difference_type n, vector_iterator it) noexcept {
    return it += n;
  }
  friend vector_iterator operator-(vector_iterator it, difference_type n) noexcept {
    return it -= n;
  }

  // These also take an iterator and a const_iterator.
  template <typename Other>
  difference_type operator-(const vector_iterator<Storage, Other>& other) const noexcept {
    return static_cast<difference_type>(index_ - other.index_);
  }
  template <typename Other>
  bool operator==(const vector_iterator<Storage, Other>& other) const noexcept {
    return index_ == other.index_ && storage_ == other.storage_;
  }
  template <typename Other>
  bool operator!=(const vector_iterator<Storage, Other>& other) const noexcept {
    return !(*this == other);
  }
  template <typename Other>
  bool operator<(const vector_iterator<Storage, Other>& other) const noexcept {
    return index_ < other.index_;
  }
  template <typename Other>
  bool operator>(const vector_iterator<Storage, Other>& other) const noexcept {
    return other < *this;
  }
  template <typename Other>
  bool operator<=(const vector_iterator<Storage, Other>& other) const noexcept {
    return !(other < *this);
  }
  template <typename Other>
  bool operator>=(const vector_iterator<Storage, Other>& other) const noexcept {
    return !(*this < other);
  }

 private:
  // If there is no segment yet, each access looks again.
  void find_segment() noexcept { limit_ = storage_->find_segment(index_, segment_); }

  const Storage* storage_ = nullptr;
  std::size_t index_ = 0;
  std::uintptr_t segment_ = 0;  // see Storage::element_in
  // The end of the segment, which begins at half of it or before; 0 if it is not known.
  std::size_t limit_ = 0;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_VECTOR_ITERATOR_HPP
