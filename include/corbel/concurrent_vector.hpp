// SPDX-License-Identifier: Apache-2.0
// A vector that several threads can append to at the same time. C++11 and later. Follows the oneTBB
// specification 1.4 (concurrent_vector), with the members of TBB 2020.
#ifndef CORBEL_CONCURRENT_VECTOR_HPP
#define CORBEL_CONCURRENT_VECTOR_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/detail/ets_iterator.hpp>
#include <corbel/detail/three_way.hpp>
#include <corbel/detail/vector_iterator.hpp>
#include <corbel/detail/vector_storage.hpp>
#include <corbel/exceptions.hpp>

namespace corbel {

// A sequence with random access whose elements stay where they are while it grows: growth
// invalidates neither references nor iterators.
//
// Any thread may call the functions for growth, element access, iteration and size at any time. A
// thread may access an element whose index is below size() although another thread is still
// constructing it; the program must know that it is complete, for instance because the growing call
// has returned. The elements themselves are not protected. All other functions, marked below, and
// construction and destruction need exclusive access to the object.
//
// T's destructor must not throw. If a constructor of T can throw, the destructor must be able to
// destroy an object whose bytes are all zero. What happens when a growth or an assignment throws:
//  - A constructor has thrown: the new elements from that one on are filled with zeros. They count
//    as elements and will be destroyed. The vector can be used as before.
//  - The allocator has thrown: the vector is broken. Each new element has been constructed, or is
//    filled with zeros, or has no memory; the latter have indices from capacity() on, and size()
//    does not count them. Later growth that needs memory throws bad_last_alloc. Everything else
//    works, and clear(), assignment, resize() to a smaller size and swap() with another vector
//    end this state.
// Elements that were appended successfully are not affected.
//
// Elements are stored in segments, each as long as all before it together. The first ones share a
// block that has room for all elements of the first growth, or reserve.
template <typename T, typename Allocator = cache_aligned_allocator<T>>
class concurrent_vector {
  using storage = detail::vector_storage<T, Allocator>;
  using traits = std::allocator_traits<Allocator>;
  template <typename Iterator>
  using if_input = typename std::enable_if<
      std::is_convertible<typename std::iterator_traits<Iterator>::iterator_category,
                          std::input_iterator_tag>::value>::type;

 public:
  using value_type = T;
  using allocator_type = Allocator;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = typename traits::pointer;
  using const_pointer = typename traits::const_pointer;
  using iterator = detail::vector_iterator<storage, T>;
  using const_iterator = detail::vector_iterator<storage, const T>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using range_type = detail::ets_range<iterator>;
  using const_range_type = detail::ets_range<const_iterator>;

  static_assert(std::is_same<T, typename traits::value_type>::value,
                "the allocator allocates elements");

  // ---- construction; each throws what the allocator or a constructor of T throws, and then
  // destroys the elements that have been constructed

  // Make an empty vector, which has no memory.
  concurrent_vector() noexcept(std::is_nothrow_default_constructible<Allocator>::value)
      : concurrent_vector(Allocator()) {}
  explicit concurrent_vector(const Allocator& allocator) noexcept : storage_(allocator) {}

  // Makes `n` elements by T(), or as copies of `value`.
  explicit concurrent_vector(size_type n, const Allocator& allocator = Allocator())
      : storage_(allocator) {
    storage_.append_new(n, detail::default_source());
  }
  explicit concurrent_vector(size_type n, const T& value, const Allocator& allocator = Allocator())
      : storage_(allocator) {
    storage_.append_new(n, detail::copies_source<T>{value});
  }

  // Copies a sequence.
  template <typename InputIterator, typename = if_input<InputIterator>>
  concurrent_vector(InputIterator first, InputIterator last,
                    const Allocator& allocator = Allocator())
      : storage_(allocator) {
    append_new(first, last, category_of<InputIterator>());
  }
  concurrent_vector(std::initializer_list<T> list, const Allocator& allocator = Allocator())
      : storage_(allocator) {
    append_new(list.begin(), list.end(), std::random_access_iterator_tag());
  }

  // Copy the elements of `other`, which no thread may change meanwhile.
  concurrent_vector(const concurrent_vector& other)
      : concurrent_vector(
            other, traits::select_on_container_copy_construction(other.storage_.allocator())) {}
  concurrent_vector(const concurrent_vector& other, const Allocator& allocator)
      : concurrent_vector(other.begin(), other.end(), allocator) {}
  template <typename OtherAllocator, typename = typename std::enable_if<
                                         !std::is_same<OtherAllocator, Allocator>::value>::type>
  concurrent_vector(const concurrent_vector<T, OtherAllocator>& other,
                    const Allocator& allocator = Allocator())
      : concurrent_vector(other.begin(), other.end(), allocator) {}

  // Takes the elements of `other`, which is empty afterwards. They stay at their addresses, unless
  // `allocator` differs from that of `other`: then each is moved.
  concurrent_vector(concurrent_vector&& other) noexcept : storage_(other.storage_.allocator()) {
    storage_.take(other.storage_);
  }
  concurrent_vector(concurrent_vector&& other, const Allocator& allocator) : storage_(allocator) {
    if (allocator == other.storage_.allocator()) {
      storage_.take(other.storage_);
    } else {
      move_elements_of(other);
    }
  }

  ~concurrent_vector() = default;

  // ---- assignment; exclusive access

  // Replace the elements. Keep the memory, unless the allocator changes. If that throws, the class
  // comment says what is left.
  concurrent_vector& operator=(const concurrent_vector& other) {
    if (this == &other) return *this;
    copy_allocator(other, typename traits::propagate_on_container_copy_assignment());
    assign(other.begin(), other.end());
    return *this;
  }
  template <typename OtherAllocator, typename = typename std::enable_if<
                                         !std::is_same<OtherAllocator, Allocator>::value>::type>
  concurrent_vector& operator=(const concurrent_vector<T, OtherAllocator>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  concurrent_vector& operator=(std::initializer_list<T> list) {
    assign(list.begin(), list.end());
    return *this;
  }
  void assign(size_type n, const T& value) {
    clear();
    storage_.append(n, detail::copies_source<T>{value});
  }
  template <typename InputIterator, typename = if_input<InputIterator>>
  void assign(InputIterator first, InputIterator last) {
    clear();
    append(first, last, category_of<InputIterator>());
  }
  void assign(std::initializer_list<T> list) { assign(list.begin(), list.end()); }

  // Takes the elements of `other`, which is empty afterwards. They stay at their addresses, unless
  // the allocators differ and do not propagate: then each is moved.
  concurrent_vector& operator=(concurrent_vector&& other) noexcept(
      traits::propagate_on_container_move_assignment::value || is_always_equal()) {
    if (this != &other) {
      move_from(other, typename traits::propagate_on_container_move_assignment());
    }
    return *this;
  }

  // ---- growth; any thread at any time. The class comment says what happens when one throws.

  // Append one element and return an iterator to it.
  iterator push_back(const T& value) { return emplace_back(value); }
  iterator push_back(T&& value) { return emplace_back(std::move(value)); }
  template <typename... Args>
  iterator emplace_back(Args&&... args) {
    return at_index(storage_.append([&](Allocator& allocator, T* p) {
      traits::construct(allocator, p, std::forward<Args>(args)...);
    }));
  }

  // Append `n` elements, made by T() or as copies of `value`, or the elements of a sequence. They
  // have consecutive indices. Return an iterator to the first; the end if there are none.
  iterator grow_by(size_type n) { return at_index(storage_.append(n, detail::default_source())); }
  iterator grow_by(size_type n, const T& value) {
    return at_index(storage_.append(n, detail::copies_source<T>{value}));
  }
  template <typename ForwardIterator, typename = if_input<ForwardIterator>>
  iterator grow_by(ForwardIterator first, ForwardIterator last) {
    return at_index(append(first, last, category_of<ForwardIterator>()));
  }
  iterator grow_by(std::initializer_list<T> list) { return grow_by(list.begin(), list.end()); }

  // Append as many elements, made by T() or as copies of `value`, as are missing to have `n`.
  // Return an iterator to the first of them. All elements up to the n-th have memory then, but
  // other threads may still be constructing some. If there are enough, the iterator is to the
  // element `n`, by the manual of TBB 2020; the specification leaves that open, and oneTBB returns
  // end().
  iterator grow_to_at_least(size_type n) {
    return at_index(storage_.append_up_to(n, detail::default_source()));
  }
  iterator grow_to_at_least(size_type n, const T& value) {
    return at_index(storage_.append_up_to(n, detail::copies_source<T>{value}));
  }

  // ---- elements; any thread at any time

  // Return an element; the index must be less than size().
  reference operator[](size_type i) noexcept {
    CORBEL_ASSERT(i < size(), "the index is less than the size");
    return storage_.element(i);
  }
  const_reference operator[](size_type i) const noexcept {
    CORBEL_ASSERT(i < size(), "the index is less than the size");
    return storage_.element(i);
  }

  // Return an element. Throw std::out_of_range if no thread has appended it, and std::range_error
  // if it has no memory.
  reference at(size_type i) { return checked(i); }
  const_reference at(size_type i) const { return checked(i); }

  // Return the first and the last element; the vector must not be empty.
  reference front() noexcept { return (*this)[0]; }
  const_reference front() const noexcept { return (*this)[0]; }
  reference back() noexcept { return (*this)[size() - 1]; }
  const_reference back() const noexcept { return (*this)[size() - 1]; }

  // ---- iteration; any thread at any time

  iterator begin() noexcept { return at_index(0); }
  const_iterator begin() const noexcept { return cbegin(); }
  const_iterator cbegin() const noexcept { return const_iterator(&storage_, 0); }
  iterator end() noexcept { return at_index(size()); }
  const_iterator end() const noexcept { return cend(); }
  const_iterator cend() const noexcept { return const_iterator(&storage_, size()); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return crbegin(); }
  const_reverse_iterator crbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return crend(); }
  const_reverse_iterator crend() const noexcept { return const_reverse_iterator(begin()); }

  // Return the elements as a range for parallel algorithms, which do not split parts of up to
  // `grainsize` elements.
  range_type range(size_type grainsize = 1) { return range_type(begin(), end(), grainsize); }
  const_range_type range(size_type grainsize = 1) const {
    return const_range_type(begin(), end(), grainsize);
  }

  // ---- size; any thread at any time

  // Returns the number of elements, including those that other threads are constructing.
  size_type size() const noexcept { return storage_.size(); }
  bool empty() const noexcept { return size() == 0; }
  // Returns up to what size the vector can grow without more memory.
  size_type capacity() const noexcept { return storage_.capacity(); }
  size_type max_size() const noexcept { return storage::max_size(storage_.allocator()); }
  allocator_type get_allocator() const { return storage_.allocator(); }

  // ---- the rest needs exclusive access

  // Adds memory for at least `n` elements in total. Throws std::length_error if n > max_size(), and
  // what the allocator throws; the elements and their number have not changed then.
  void reserve(size_type n) {
    if (n > max_size()) detail::raise(std::length_error("concurrent_vector: reserve"));
    storage_.reserve(n);
  }

  // Destroys the last elements, or appends elements made by T() or as copies of `value`.
  void resize(size_type n) {
    if (n < size()) return storage_.destroy_from(n);
    grow_to_at_least(n);
  }
  void resize(size_type n, const T& value) {
    if (n < size()) return storage_.destroy_from(n);
    grow_to_at_least(n, value);
  }

  // Moves all elements into one block and frees the memory that is not needed. Invalidates
  // references and iterators. If that throws, nothing has changed, unless T can only be moved and
  // its move constructor has thrown.
  void shrink_to_fit() {
    const size_type n = size();
    if (n != 0 && !storage_.has_block_for(n)) {
      using source = typename std::conditional<!std::is_nothrow_move_constructible<T>::value &&
                                                   std::is_copy_constructible<T>::value,
                                               iterator, std::move_iterator<iterator>>::type;
      storage compact(storage_.allocator());
      compact.append_new(n, detail::sequence_source<source>{source(begin())});
      storage_.swap(compact);
    }
    storage_.destroy_from(n);
    storage_.free_from(n);
  }

  // Destroys all elements. Keeps the memory: shrink_to_fit() frees it then.
  void clear() noexcept { storage_.destroy_from(0); }

  // Exchanges the contents. References and iterators stay valid for the elements they refer to,
  // but iterators then belong to the object that they were made by. The allocators must be equal,
  // unless they propagate.
  void swap(concurrent_vector& other) noexcept {
    storage_.swap(other.storage_);
    swap_allocators(other, typename traits::propagate_on_container_swap());
  }

 private:
  template <typename Iterator>
  using category_of = typename std::iterator_traits<Iterator>::iterator_category;

  static constexpr bool is_always_equal() {
#if defined(__cpp_lib_allocator_traits_is_always_equal)
    return traits::is_always_equal::value;
#else
    return std::is_empty<Allocator>::value;
#endif
  }

  iterator at_index(size_type i) noexcept { return iterator(&storage_, i); }

  T& checked(size_type i) const {
    if (i >= storage_.claimed()) detail::raise(std::out_of_range("concurrent_vector: no element"));
    if (i >= capacity()) detail::raise(std::range_error("concurrent_vector: no memory"));
    return storage_.element(i);
  }

  // Append a sequence.
  template <typename Iterator>
  size_type append(Iterator first, Iterator last, std::forward_iterator_tag) {
    return storage_.append(static_cast<size_type>(std::distance(first, last)),
                           detail::sequence_source<Iterator>{first});
  }
  template <typename Iterator>
  size_type append(Iterator first, Iterator last, std::input_iterator_tag) {
    const size_type start = size();
    for (; first != last; ++first) push_back(*first);
    return start;
  }
  template <typename Iterator>
  void append_new(Iterator first, Iterator last, std::forward_iterator_tag) {
    storage_.append_new(static_cast<size_type>(std::distance(first, last)),
                        detail::sequence_source<Iterator>{first});
  }
  template <typename Iterator>
  void append_new(Iterator first, Iterator last, std::input_iterator_tag) {
    for (; first != last; ++first) {
      storage_.append_new(
          1, [&](Allocator& allocator, T* p) { traits::construct(allocator, p, *first); });
    }
  }

  void move_elements_of(concurrent_vector& other) {
    using source = std::move_iterator<iterator>;
    storage_.append_new(other.size(), detail::sequence_source<source>{source(other.begin())});
    other.clear();
  }

  // ---- allocators that propagate, and others

  void copy_allocator(const concurrent_vector& other, std::true_type) {
    if (storage_.allocator() != other.storage_.allocator()) free_all();
    storage_.allocator() = other.storage_.allocator();
  }
  void copy_allocator(const concurrent_vector&, std::false_type) noexcept {}

  void move_from(concurrent_vector& other, std::true_type) noexcept {
    free_all();
    storage_.allocator() = std::move(other.storage_.allocator());
    storage_.take(other.storage_);
  }
  void move_from(concurrent_vector& other, std::false_type) {
    clear();
    if (storage_.allocator() == other.storage_.allocator()) {
      free_all();
      storage_.take(other.storage_);
    } else {
      move_elements_of(other);
    }
  }

  void swap_allocators(concurrent_vector& other, std::true_type) noexcept {
    using std::swap;
    swap(storage_.allocator(), other.storage_.allocator());
  }
  void swap_allocators(concurrent_vector&, std::false_type) noexcept {}

  void free_all() noexcept {
    storage_.destroy_from(0);
    storage_.free_from(0);
  }

  storage storage_;
};

template <typename T, typename Allocator>
inline void swap(concurrent_vector<T, Allocator>& a, concurrent_vector<T, Allocator>& b) noexcept {
  a.swap(b);
}

// Compare the elements one by one, and lexicographically. No thread may change the vectors
// meanwhile. Throw what the comparison of elements throws.
template <typename T, typename A, typename B>
inline bool operator==(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  if (a.size() != b.size()) return false;
  auto of_b = b.begin();
  for (const T& value : a) {
    if (!(value == *of_b)) return false;
    ++of_b;
  }
  return true;
}
template <typename T, typename A, typename B>
inline bool operator!=(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  return !(a == b);
}
template <typename T, typename A, typename B>
inline bool operator<(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  auto of_b = b.begin();
  const auto end_of_b = b.end();
  for (const T& value : a) {
    if (of_b == end_of_b || *of_b < value) return false;
    if (value < *of_b) return true;
    ++of_b;
  }
  return of_b != end_of_b;
}
template <typename T, typename A, typename B>
inline bool operator>(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  return b < a;
}
template <typename T, typename A, typename B>
inline bool operator<=(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  return !(b < a);
}
template <typename T, typename A, typename B>
inline bool operator>=(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b) {
  return !(a < b);
}

#if CORBEL_HAS_THREE_WAY
template <typename T, typename A, typename B>
inline auto operator<=>(const concurrent_vector<T, A>& a, const concurrent_vector<T, B>& b)
    -> decltype(detail::compare_three_way(*a.begin(), *b.begin())) {
  auto of_b = b.begin();
  const auto end_of_b = b.end();
  for (const T& value : a) {
    if (of_b == end_of_b) break;
    const auto order = detail::compare_three_way(value, *of_b);
    if (order != 0) return order;
    ++of_b;
  }
  return a.size() <=> b.size();
}
#endif

#if defined(__cpp_deduction_guides)
template <typename InputIterator,
          typename T = typename std::iterator_traits<InputIterator>::value_type,
          typename Allocator = cache_aligned_allocator<T>,
          typename = decltype(std::declval<Allocator&>().allocate(std::size_t{}))>
concurrent_vector(InputIterator, InputIterator, Allocator = Allocator())
    -> concurrent_vector<T, Allocator>;
#endif

}  // namespace corbel

#endif  // CORBEL_CONCURRENT_VECTOR_HPP
