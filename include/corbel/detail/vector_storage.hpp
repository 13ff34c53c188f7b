// SPDX-License-Identifier: Apache-2.0
// The segments of a concurrent_vector, and how elements get into them. Not for programs to include.
#ifndef CORBEL_DETAIL_VECTOR_STORAGE_HPP
#define CORBEL_DETAIL_VECTOR_STORAGE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/highest_bit.hpp>
#include <corbel/detail/vector_growth.hpp>
#include <corbel/detail/wait_on_address.hpp>
#include <corbel/exceptions.hpp>

namespace corbel {
namespace detail {

template <typename T>
using vector_atomic = std::atomic<T>;

// What constructs an element: construct(allocator, address).
struct default_source {
  template <typename Allocator, typename T>
  void operator()(Allocator& allocator, T* p) {
    std::allocator_traits<Allocator>::construct(allocator, p);
  }
};
template <typename T>
struct copies_source {
  const T& value;
  template <typename Allocator>
  void operator()(Allocator& allocator, T* p) {
    std::allocator_traits<Allocator>::construct(allocator, p, value);
  }
};
template <typename Iterator>
struct sequence_source {
  Iterator next;
  template <typename Allocator, typename T>
  void operator()(Allocator& allocator, T* p) {
    std::allocator_traits<Allocator>::construct(allocator, p, *next);
    ++next;
  }
};

// Segment 0 has 2^first_log() elements, which fill a cache line if they are small; each further
// segment has as many as all before it. The first allocation may be one block for several segments;
// every later one is for one segment. A table entry holds the address at which element 0 would be
// if the memory of the segment extended that far, so that an element's address is one addition
// away. Addresses of that kind are numbers, as no pointer may lie outside of a block.
//
// The table of kShort entries inside the object is replaced by one for all possible segments when
// it is full. With an empty allocator the object is 72 bytes long and the number of claimed
// elements lies 64 bytes after the capacity: a base class so that the members fill its last bytes.
template <typename T, typename Allocator>
class vector_storage
    : private basic_vector_memory<vector_atomic, sleeping_wait, std::uintptr_t, 5> {
  static constexpr int kShort = 5;
  using entry = std::uintptr_t;
  using memory = basic_vector_memory<vector_atomic, sleeping_wait, entry, kShort>;

 public:
  using traits = std::allocator_traits<Allocator>;

  explicit vector_storage(const Allocator& allocator) noexcept : allocator_(allocator) {}
  vector_storage(const vector_storage&) = delete;
  vector_storage& operator=(const vector_storage&) = delete;
  ~vector_storage() {
    destroy_from(0);
    free_from(0);
  }

  Allocator& allocator() noexcept { return allocator_; }
  const Allocator& allocator() const noexcept { return allocator_; }

  static std::size_t max_size(const Allocator& allocator) noexcept {
    const std::size_t most = static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);
    return most < traits::max_size(allocator)
               ? most
               : static_cast<std::size_t>(traits::max_size(allocator));
  }

  // ---- elements ---------------------------------------------------------------------------------

  static T* element_in(std::uintptr_t segment, std::size_t i) noexcept {
    return reinterpret_cast<T*>(segment + i * sizeof(T));
  }

  // Returns the element with an index below the capacity that the thread has read.
  T& element(std::size_t i) const noexcept { return *element_in(segment_with(i), i); }
  std::uintptr_t segment_with(std::size_t i) const noexcept { return this->table()[segment_of(i)]; }

  // Sets `segment` for the element and returns the end of its segment; returns 0 if it has none.
  std::size_t find_segment(std::size_t i, std::uintptr_t& segment) const noexcept {
    if (i >= capacity()) return 0;
    segment = segment_with(i);
    return segment_end(segment_of(i));
  }

  using memory::capacity;

  // Including those without memory, if the vector is broken or about to grow.
  std::size_t claimed() const noexcept { return claims_.claimed(); }

  std::size_t size() const noexcept {
    const std::size_t all = claimed(), with_memory = capacity();
    return all < with_memory ? all : with_memory;
  }

  // ---- growth, by any thread at any time --------------------------------------------------------

  // Appends an element and returns its index. If that throws, the element, if it has memory, is
  // filled with zeros.
  template <typename Source>
  std::size_t append(Source&& source) {
    const std::size_t i = claims_.claim(1);
    zero_filler rest{*this, i, i + 1};
    if (CORBEL_UNLIKELY(i >= capacity())) reach(i + 1);
    source(allocator_, &element(i));
    rest.next = i + 1;
    return i;
  }

  // Appends `n` elements and returns the index of the first. If that throws, those elements that
  // have not been constructed, but have memory, are filled with zeros.
  template <typename Source>
  std::size_t append(std::size_t n, Source&& source) {
    if (n > max_size(allocator_)) raise(std::bad_alloc());
    const std::size_t first = claims_.claim(n);
    fill<zero_filler>(first, first + n, source);
    return first;
  }

  // Appends the elements that are missing to have `n`, and returns the index of the first; `n` if
  // there are enough. All the first `n` elements have memory then.
  template <typename Source>
  std::size_t append_up_to(std::size_t n, Source&& source) {
    if (n > max_size(allocator_)) raise(std::bad_alloc());
    const std::size_t first = claims_.claim_up_to(n);
    if (first < n) {
      fill<zero_filler>(first, n, source);
    } else {
      reach(n);
    }
    return first;
  }

  // ---- no other function may run at the same time -----------------------------------------------

  // Appends `n` elements. If that throws, only those are added that have been constructed.
  template <typename Source>
  void append_new(std::size_t n, Source&& source) {
    if (n > max_size(allocator_)) raise(std::bad_alloc());
    const std::size_t first = claims_.claim(n);
    fill<truncater>(first, first + n, source);
  }

  // Adds memory for `n` elements in total. Strong guarantee.
  void reserve(std::size_t n) { memory::reach(n, adder{*this}, false); }

  // Destroys the elements from `n` on. The vector is no longer broken.
  void destroy_from(std::size_t n) noexcept {
    if (!std::is_trivially_destructible<T>::value) {
      for (std::size_t i = size(); i > n; --i) traits::destroy(allocator_, &element(i - 1));
    }
    if (claimed() > n) claims_.set_claimed(n);
    this->mend();
  }

  // Frees the memory for elements from `n` on, which must have been destroyed, except that of the
  // first block if n > 0. For n == 0, the table, too.
  void free_from(std::size_t n) noexcept {
    std::size_t end = capacity();
    const std::size_t first_block = end == 0 ? 0 : std::size_t(1) << first_log_;
    while (end > first_block && end / 2 >= n) {
      deallocate(&element(end / 2), end / 2);
      end /= 2;
    }
    if (n == 0 && end != 0) {
      deallocate(&element(0), end);
      end = 0;
    }
    this->set_capacity(end);
    if (n == 0 && !this->has_short_table()) {
      table_allocator tables(allocator_);
      table_traits::deallocate(tables, to_pointer<table_traits>(this->table()), segments());
      this->set_table(this->short_table());
    }
  }

  // Takes what `other` has; this object must have neither elements nor memory.
  void take(vector_storage& other) noexcept {
    for (int i = 0; i < kShort; ++i) this->short_table()[i] = other.short_table()[i];
    if (!other.has_short_table()) this->set_table(other.table());
    claims_.set_claimed(other.size());  // not the claims on elements without memory
    this->set_capacity(other.capacity());
    first_log_ = other.first_log_;
    other.set_table(other.short_table());
    other.claims_.set_claimed(0);
    other.set_capacity(0);
    other.mend();
  }

  // Exchanges everything but the allocators.
  void swap(vector_storage& other) noexcept {
    vector_storage third(allocator_);
    third.take(*this);
    take(other);
    other.take(third);
  }

  // Whether `n` > 0 elements lie in one block that has no segment to spare.
  bool has_block_for(std::size_t n) const noexcept { return first_log_ == first_log_for(n); }

 private:
  // Functions, not constants: T may be incomplete where the class is instantiated.
  static constexpr int first_log() {
    return sizeof(T) >= 32 ? 1 : sizeof(T) >= 16 ? 2 : sizeof(T) >= 8 ? 3 : sizeof(T) >= 4 ? 4 : 5;
  }
  // Segment s ends at 2^(first_log() + s), which must not overflow.
  static constexpr int segments() {
    return static_cast<int>(sizeof(std::size_t)) * 8 - first_log();
  }

  using table_allocator = typename traits::template rebind_alloc<entry>;
  using table_traits = std::allocator_traits<table_allocator>;

  static std::size_t segment_of(std::size_t i) noexcept {
    return static_cast<unsigned>(highest_bit(i | ((std::size_t(1) << first_log()) - 1))) -
           std::size_t(first_log() - 1);
  }
  static std::size_t segment_end(std::size_t s) noexcept {
    return std::size_t(1) << (first_log() + s);
  }

  // The size of a first block for `n` elements.
  static int first_log_for(std::size_t n) noexcept {
    const int log = n < 2 ? 0 : highest_bit(n - 1) + 1;
    return log < first_log() ? first_log() : log;
  }

  template <typename Traits>
  static typename Traits::pointer to_pointer(typename Traits::value_type* p) noexcept {
    return std::pointer_traits<typename Traits::pointer>::pointer_to(*p);
  }
  void deallocate(T* p, std::size_t n) noexcept {
    traits::deallocate(allocator_, to_pointer<traits>(p), n);
  }

  // Fills the elements from `next` up to `end` with zeros if the scope ends before they are
  // constructed.
  struct zero_filler {
    ~zero_filler() {
      if (next != end) storage.zero_fill(next, end);
    }
    vector_storage& storage;
    std::size_t next, end;
  };

  // Gives those elements back.
  struct truncater {
    ~truncater() {
      if (next != end) storage.claims_.set_claimed(next);
    }
    vector_storage& storage;
    std::size_t next, end;
  };

  CORBEL_NOINLINE void zero_fill(std::size_t first, std::size_t last) noexcept {
    if (last > capacity()) last = capacity();
    for (; first < last; ++first) {
      std::memset(static_cast<void*>(&element(first)), 0, sizeof(T));
    }
  }

  // Constructs the elements from `first` up to `last`, which the thread has claimed. `AtThrow`
  // deals with the others if that throws.
  template <typename AtThrow, typename Source>
  void fill(std::size_t first, std::size_t last, Source& source) {
    AtThrow rest{*this, first, last};
    reach(last);
    while (rest.next != last) {
      const std::size_t s = segment_of(rest.next);
      const std::size_t end = segment_end(s) < last ? segment_end(s) : last;
      const entry segment = this->table()[s];
      for (std::size_t i = rest.next; i != end; rest.next = ++i) {
        source(allocator_, element_in(segment, i));
      }
    }
  }

  // Throws what the allocator throws, and bad_last_alloc if the vector is broken already.
  CORBEL_NOINLINE void reach(std::size_t n) {
    if (!memory::reach(n, adder{*this})) raise(bad_last_alloc());
  }

  // Adds memory; the argument of memory::reach.
  struct adder {
    vector_storage& storage;
    std::size_t operator()(std::size_t capacity, std::size_t n) const {
      return storage.add_segment(capacity, n);
    }
  };

  std::size_t add_segment(std::size_t capacity, std::size_t n) {
    if (n > max_size(allocator_)) raise(std::bad_alloc());
    const int log = capacity == 0 ? first_log_for(n) : highest_bit(capacity) + 1;
    const int last = log - first_log();
    if (last >= kShort && this->has_short_table()) lengthen_table();
    const std::size_t size = (std::size_t(1) << log) - capacity;
    T* const block = std::addressof(*traits::allocate(allocator_, size));
    if (capacity == 0) first_log_ = static_cast<std::uint8_t>(log);
    entry* const table = this->table();
    for (int s = capacity == 0 ? 0 : last; s <= last; ++s) {
      table[s] = reinterpret_cast<entry>(block) - capacity * sizeof(T);
    }
    return capacity + size;
  }

  void lengthen_table() {
    table_allocator tables(allocator_);
    entry* const longer = std::addressof(*table_traits::allocate(tables, segments()));
    for (int s = 0; s < segments(); ++s) {
      ::new (static_cast<void*>(longer + s)) entry(s < kShort ? this->short_table()[s] : 0);
    }
    this->set_table(longer);
  }

  std::uint8_t first_log_ = 0;  // of the number of elements in the first block
  Allocator allocator_;
  basic_vector_claims<vector_atomic> claims_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_VECTOR_STORAGE_HPP
