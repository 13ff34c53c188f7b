// SPDX-License-Identifier: Apache-2.0
// A heap of elements that may be costly to move, or throw when moved. Not for programs to include.
#ifndef CORBEL_DETAIL_HEAP_HPP
#define CORBEL_DETAIL_HEAP_HPP

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <corbel/detail/heap_entry.hpp>
#include <corbel/detail/manual_lifetime.hpp>

namespace corbel {
namespace detail {

// Each entry has four children: half the levels of a binary heap, and children share a cache line
// (A. LaMarca and R. Ladner, "The Influence of Caches on the Performance of Heaps", 1996).
//
// The entry that was pushed last may be loose: at the end of the array, but not yet at its place. A
// pop that comes next takes it if it is the largest; otherwise it moves it down from the top, as it
// would have to with any last entry. Only a push that comes next lets it rise.
//
// An operation compares first, then moves entries, which does not throw (heap_entry.hpp). So
// whatever throws, a comparison, an allocation or an assignment to a result, the heap is whole and
// has the elements that it had. Not thread-safe.
//
// T may be incomplete where the class is instantiated: what depends on its definition is in member
// classes, which are instantiated when a function needs them.
template <typename T, typename Compare, typename Allocator>
class heap {
  struct layout;

 public:
  // An element that is not in a heap yet (heap_entry.hpp).
  class new_entry : public heap_entries<T, Allocator>::new_entry {
    using base = typename heap_entries<T, Allocator>::new_entry;

   public:
    using base::base;
  };

  heap(const Compare& compare, const Allocator& allocator)
      : allocator_(allocator), compare_(compare) {}
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  ~heap() { clear(); }

  Allocator& allocator() noexcept { return allocator_; }
  const Allocator& allocator() const noexcept { return allocator_; }
  Compare& compare() noexcept { return compare_; }
  const Compare& compare() const noexcept { return compare_; }

  std::size_t size() const noexcept { return size_; }
  const T& operator[](std::size_t i) const { return layout::value(memory_, i); }
  T& operator[](std::size_t i) { return layout::value(memory_, i); }

  // Makes room for `capacity` elements. Throws bad_alloc.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    const void_pointer memory = layout::allocate(allocator_, capacity);
    for (std::size_t i = 0; i < size_; ++i) {
      layout::move(allocator_, layout::at(memory, i), layout::at(memory_, i));
    }
    free_memory();
    memory_ = memory;
    capacity_ = capacity;
  }

  // Adds the element. Throws bad_alloc, and what the comparison throws.
  void push(new_entry& made) {
    if (has_loose_) rise(size_ - 1);
    has_loose_ = false;
    append(made);
    has_loose_ = true;
  }

  // Adds an element at the end; make() must follow.
  template <typename Value>
  void append_new(Value&& value) {
    new_entry made(allocator_, std::forward<Value>(value));
    append(made);
  }

  // Copy or move the elements of `other` into this heap, which is empty, with the same comparison.
  // Throw bad_alloc, and what the elements' constructors throw.
  void copy_from(const heap& other) {
    reserve(other.size_);
    for (std::size_t i = 0; i < other.size_; ++i) append_new(other[i]);
    has_loose_ = other.has_loose_;
  }
  void move_from(heap& other) {
    reserve(other.size_);
    for (std::size_t i = 0; i < other.size_; ++i) append_new(std::move(other[i]));
    has_loose_ = other.has_loose_;
  }

  // Makes a heap of what append_new() has added. Throws what the comparison throws.
  void make() {
    if (size_ < 2) return;
    for (std::size_t i = parent(size_ - 1) + 1; i > 0; --i) {
      const path down(*this, i - 1, size_, (*this)[i - 1]);
      sink(i - 1, down);
    }
  }

  // Moves the largest element to `result` and removes it. Requires that there is one. Throws what
  // the comparison or the assignment throws; nothing is removed then.
  template <typename Result>
  void pop(Result& result) {
    const std::size_t last = size_ - 1;
    if (has_loose_ && !compare_((*this)[last], (*this)[0])) {
      result = std::move((*this)[last]);
      layout::destroy(allocator_, memory_, last);
    } else {
      const path down(*this, 0, last, (*this)[last]);
      result = std::move((*this)[0]);
      layout::destroy(allocator_, memory_, 0);
      const std::size_t hole = down.follow(*this);
      if (hole != last) move_entry(hole, last);
    }
    size_ = last;
    has_loose_ = false;
  }

  // Removes all elements and frees the memory.
  void clear() noexcept {
    for (std::size_t i = 0; i < size_; ++i) layout::destroy(allocator_, memory_, i);
    size_ = 0;
    has_loose_ = false;
    free_memory();
    memory_ = nullptr;
    capacity_ = 0;
  }

  // Exchanges the elements, neither the allocators nor the comparisons.
  void swap_elements(heap& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(has_loose_, other.has_loose_);
  }

 private:
  using void_pointer = typename std::allocator_traits<Allocator>::void_pointer;

  // The array of entries.
  struct layout {
    using entries = heap_entries<T, Allocator>;
    using entry = typename entries::type;
    using entry_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<entry>;
    using traits = std::allocator_traits<entry_allocator>;
    using pointer = typename traits::pointer;

    static entry* at(const void_pointer& memory, std::size_t i) {
      return std::addressof(static_cast<pointer>(memory)[i]);
    }
    static T& value(const void_pointer& memory, std::size_t i) {
      return entries::value(*at(memory, i));
    }
    static void move(Allocator& allocator, entry* to, entry* from) noexcept {
      entries::move(allocator, to, from);
    }
    static void destroy(Allocator& allocator, const void_pointer& memory, std::size_t i) noexcept {
      entries::destroy(allocator, at(memory, i));
    }
    static void_pointer allocate(const Allocator& allocator, std::size_t count) {
      entry_allocator rebound(allocator);
      return traits::allocate(rebound, count);
    }
    static void free(const Allocator& allocator, const void_pointer& memory, std::size_t count) {
      entry_allocator rebound(allocator);
      traits::deallocate(rebound, static_cast<pointer>(memory), count);
    }
  };

  static constexpr std::size_t kChildren = 4;
  static constexpr std::size_t kFirstCapacity = 8;
  static constexpr unsigned kMaxLevels = sizeof(std::size_t) * 4;
  static std::size_t parent(std::size_t i) { return (i - 1) / kChildren; }

  void append(new_entry& made) {
    if (size_ == capacity_) reserve(capacity_ == 0 ? kFirstCapacity : 2 * capacity_);
    made.take(allocator_, layout::at(memory_, size_));
    ++size_;
  }

  void move_entry(std::size_t to, std::size_t from) noexcept {
    layout::move(allocator_, layout::at(memory_, to), layout::at(memory_, from));
  }

  // The largest of the child at `first` and the three after it.
  std::size_t largest_of_four(std::size_t first, std::false_type) {
    const heap& h = *this;
    const std::size_t left = first + (compare_(h[first], h[first + 1]) ? 1 : 0);
    const std::size_t right = first + 2 + (compare_(h[first + 2], h[first + 3]) ? 1 : 0);
    return compare_(h[left], h[right]) ? right : left;
  }
  // Numbers and pointers are kept in registers: the last comparison does not wait for memory again.
  std::size_t largest_of_four(std::size_t first, std::true_type) {
    const T a = (*this)[first], b = (*this)[first + 1];
    const T c = (*this)[first + 2], d = (*this)[first + 3];
    const bool second = compare_(a, b), fourth = compare_(c, d);
    const T left = second ? b : a;
    const T right = fourth ? d : c;
    const std::size_t left_at = first + (second ? 1 : 0);
    const std::size_t right_at = first + 2 + (fourth ? 1 : 0);
    // A mask, since compilers make a branch of ?: here.
    const std::size_t is_right = compare_(left, right) ? 1 : 0;
    return left_at ^ ((left_at ^ right_at) & (0 - is_right));
  }

  // Whether there are 16 grandchildren, which are neighbours, of the children at `first`, and they
  // take few cache lines.
  static constexpr std::size_t kGrandchildren = kChildren * kChildren;
  bool may_prefetch(std::size_t first) const {
    return sizeof(typename layout::entry) <= 2 * sizeof(void*) &&
           kChildren * first + kGrandchildren < capacity_;
  }

  // The way that a hole takes from `top` down to where `sinking` belongs, in a heap of `size`
  // entries: at each step the largest child.
  class path {
   public:
    path(heap& h, std::size_t top, std::size_t size, const T& sinking) : top_(top) {
      // First down to the bottom, where it nearly always belongs, then back.
      std::size_t child = kChildren * top + 1;
      for (; child + kChildren <= size; child = kChildren * steps_[length_ - 1] + 1) {
        if (h.may_prefetch(child)) {
          // Loads the next level while this one is compared.
          const typename layout::entry* const next = layout::at(h.memory_, kChildren * child + 1);
          __builtin_prefetch(next);
          __builtin_prefetch(next + kGrandchildren / 2);
          __builtin_prefetch(next + kGrandchildren - 1);
        }
        steps_[length_++] = h.largest_of_four(child, std::is_scalar<T>());
      }
      if (child < size) {
        std::size_t largest = child;
        while (++child < size) {
          if (h.compare_(h[largest], h[child])) largest = child;
        }
        steps_[length_++] = largest;
      }
      while (length_ > 0 && !h.compare_(sinking, h[steps_[length_ - 1]])) --length_;
    }
    // Moves the entries on the way one step up. Returns where the hole is then.
    std::size_t follow(heap& h) const noexcept {
      std::size_t hole = top_;
      for (unsigned i = 0; i < length_; ++i) {
        h.move_entry(hole, steps_[i]);
        hole = steps_[i];
      }
      return hole;
    }

   private:
    const std::size_t top_;
    unsigned length_ = 0;
    std::size_t steps_[kMaxLevels];
  };

  // Moves the entry at `from` up to where it belongs.
  void rise(std::size_t from) {
    std::size_t to = from;
    while (to > 0 && compare_((*this)[parent(to)], (*this)[from])) to = parent(to);
    if (to == from) return;
    manual_lifetime<typename layout::entry> rising;
    layout::move(allocator_, &rising.get(), layout::at(memory_, from));
    for (std::size_t hole = from; hole != to; hole = parent(hole)) move_entry(hole, parent(hole));
    layout::move(allocator_, layout::at(memory_, to), &rising.get());
  }

  // Moves the entry at `top` to the end of the path.
  void sink(std::size_t top, const path& down) noexcept {
    manual_lifetime<typename layout::entry> sinking;
    layout::move(allocator_, &sinking.get(), layout::at(memory_, top));
    const std::size_t hole = down.follow(*this);
    layout::move(allocator_, layout::at(memory_, hole), &sinking.get());
  }

  void free_memory() noexcept {
    if (capacity_ != 0) layout::free(allocator_, memory_, capacity_);
  }

  void_pointer memory_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool has_loose_ = false;
  Allocator allocator_;
  Compare compare_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HEAP_HPP
