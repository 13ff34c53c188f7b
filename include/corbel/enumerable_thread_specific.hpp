// SPDX-License-Identifier: Apache-2.0
// Thread-local storage that can be enumerated: one element per thread. C++11 and later. Follows the
// oneTBB specification 1.4 (enumerable_thread_specific).
#ifndef CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP
#define CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/blocked_range.hpp>
#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/detail/element_table.hpp>
#include <corbel/detail/ets_iterator.hpp>
#include <corbel/detail/ets_maker.hpp>
#include <corbel/detail/suspend.hpp>
#include <corbel/flattened2d.hpp>

namespace corbel {

// What elements belong to. ets_no_key, ets_key_per_instance: threads; the specification's choice
// between space and time, which behave alike here, without a limit on the number of objects.
// ets_suspend_aware: stacks. A suspended task (task::suspend) keeps its stack, and so its element;
// the tasks that its thread runs meanwhile have another one. Where no task is suspended, every
// thread has one stack. The library must be linked for this value.
enum ets_key_usage_type { ets_key_per_instance, ets_no_key, ets_suspend_aware };

template <typename T, typename Allocator = cache_aligned_allocator<T>,
          ets_key_usage_type KeyUsage = ets_no_key>
class enumerable_thread_specific;

namespace detail {
// Whether the second type is an enumerable_thread_specific of the first.
template <typename T, typename Other>
struct is_ets_of : std::false_type {};
template <typename T, typename Allocator, ets_key_usage_type KeyUsage>
struct is_ets_of<T, enumerable_thread_specific<T, Allocator, KeyUsage>> : std::true_type {};
}  // namespace detail

// Holds a T for each thread (with ets_suspend_aware: each stack) that has called local(). The
// thread's first call makes the element, which outlives the thread: it stays until the object is
// cleared or destroyed. A new thread to which the system gives the id of a thread that has ended
// takes over that thread's element.
//
// Any thread may call local(), size(), empty() and iterate at the same time. From a thread's second
// call on, local() takes no lock. The elements themselves are not protected: a program that
// iterates over an element while the element's thread uses it must synchronize the two. Every other
// function needs exclusive access to the object.
//
// Elements and tables take their memory from Allocator, which must be default-constructible.
// Elements share no cache lines if the allocator aligns blocks to cache lines, as the default one
// does.
template <typename T, typename Allocator, ets_key_usage_type KeyUsage>
class enumerable_thread_specific {
  template <typename, typename, ets_key_usage_type>
  friend class enumerable_thread_specific;
  template <typename, typename>
  friend class detail::ets_iterator;

 public:
  using allocator_type = Allocator;
  using value_type = T;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using iterator = detail::ets_iterator<enumerable_thread_specific, T>;
  using const_iterator = detail::ets_iterator<enumerable_thread_specific, const T>;
  using range_type = detail::ets_range<iterator>;
  using const_range_type = detail::ets_range<const_iterator>;

  // Makes elements by T().
  enumerable_thread_specific() : make_(detail::ets_make_default<T>()) {}

  // Makes elements from what `finit()` returns. Several threads may call `finit` at the same time.
  template <typename Finit, typename = typename std::enable_if<
                                detail::is_callable<typename std::decay<Finit>::type>::value>::type>
  explicit enumerable_thread_specific(Finit finit)
      : make_(detail::ets_make_by_call<T, Finit>{std::move(finit)}) {}

  // Makes elements as copies of `exemplar`.
  explicit enumerable_thread_specific(const T& exemplar)
      : make_(detail::ets_make_copy<T>{exemplar}) {}
  explicit enumerable_thread_specific(T&& exemplar)
      : make_(detail::ets_make_copy<T>{std::move(exemplar)}) {}

  // Makes elements by T(arg, args...), from copies of the arguments that the object keeps.
  template <typename Arg, typename... Args,
            typename = typename std::enable_if<
                (sizeof...(Args) != 0 ||
                 (!detail::is_callable<typename std::decay<Arg>::type>::value &&
                  !std::is_same<T, typename std::decay<Arg>::type>::value &&
                  !detail::is_ets_of<T, typename std::decay<Arg>::type>::value))>::type>
  enumerable_thread_specific(Arg&& arg, Args&&... args)
      : make_(detail::ets_make_from<T, typename std::decay<Arg>::type,
                                    typename std::decay<Args>::type...>(
            std::forward<Arg>(arg), std::forward<Args>(args)...)) {}

  // Copies the elements, each for its thread, and how new elements are made. Throws what the
  // allocator or a constructor of T throws.
  enumerable_thread_specific(const enumerable_thread_specific& other) : make_(other.make_) {
    copy_elements(other);
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific(
      const enumerable_thread_specific<T, OtherAllocator, kOtherUsage>& other)
      : make_(other.make_) {
    copy_elements(other);
  }

  // Takes the elements of `other`, which has none afterwards. Between objects of the same type the
  // elements stay at their addresses; between different types each element is moved.
  enumerable_thread_specific(enumerable_thread_specific&& other) : make_(other.make_) {
    take_elements(other);
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific(enumerable_thread_specific<T, OtherAllocator, kOtherUsage>&& other)
      : make_(other.make_) {
    take_elements(other);
  }

  // Replace the contents by what the constructor from `other` makes. If that throws, this object is
  // unchanged.
  enumerable_thread_specific& operator=(const enumerable_thread_specific& other) {
    if (this != &other) enumerable_thread_specific(other).swap(*this);
    return *this;
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific& operator=(
      const enumerable_thread_specific<T, OtherAllocator, kOtherUsage>& other) {
    enumerable_thread_specific(other).swap(*this);
    return *this;
  }
  enumerable_thread_specific& operator=(enumerable_thread_specific&& other) {
    if (this != &other) enumerable_thread_specific(std::move(other)).swap(*this);
    return *this;
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific& operator=(
      enumerable_thread_specific<T, OtherAllocator, kOtherUsage>&& other) {
    enumerable_thread_specific(std::move(other)).swap(*this);
    return *this;
  }

  ~enumerable_thread_specific() { clear(); }

  // Returns the calling thread's element, which it makes if there is none. Sets `exists` to whether
  // the element existed before. Throws what the element's constructor or the allocator throws; the
  // thread has no element then.
  reference local() {
    void* const found = elements_.find(key());
    return found != nullptr ? static_cast<node*>(found)->value : make_local();
  }
  reference local(bool& exists) {
    void* const found = elements_.find(key());
    exists = found != nullptr;
    return exists ? static_cast<node*>(found)->value : make_local();
  }

  // Returns the number of elements.
  size_type size() const { return elements_.size(); }
  bool empty() const { return size() == 0; }

  // Destroys all elements.
  void clear() noexcept {
    const size_type count = size();
    for (size_type i = 0; i < count; ++i) element_owner(*this, static_cast<node*>(elements_[i]));
    elements_.clear();
  }

  // Iterate over all elements in the order in which they were made. Iterators stay valid while
  // elements are added, until the object is cleared, assigned to, moved from or destroyed.
  iterator begin() { return iterator(this, 0); }
  iterator end() { return iterator(this, size()); }
  const_iterator begin() const { return const_iterator(this, 0); }
  const_iterator end() const { return const_iterator(this, size()); }

  // Return the elements as a range for parallel algorithms, which do not split parts of up to
  // `grainsize` elements.
  range_type range(size_type grainsize = 1) { return range_type(begin(), end(), grainsize); }
  const_range_type range(size_type grainsize = 1) const {
    return const_range_type(begin(), end(), grainsize);
  }

  // Returns f(...f(f(e0, e1), e2)...) over all elements; the element if there is only one; a new
  // element, not stored, if there is none.
  template <typename Function>
  T combine(Function f) const {
    const size_type count = size();
    if (count == 0) {
      node made;
      make_(&made.value);
      const destroyer at_end{made.value};
      return T(std::move(made.value));
    }
    T result(element(0));
    for (size_type i = 1; i < count; ++i) result = f(result, element(i));
    return result;
  }

  // Calls f(element) for each element.
  template <typename Function>
  void combine_each(Function f) {
    const size_type count = size();
    for (size_type i = 0; i < count; ++i) f(element(i));
  }

 private:
  // Fills whole cache lines, if it begins at the start of one.
  union node {
    node() {}
    ~node() {}
    T value;
    char lines[(sizeof(T) + detail::kCacheLine - 1) / detail::kCacheLine * detail::kCacheLine];
  };
  using node_allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<node>;
  using node_traits = std::allocator_traits<node_allocator>;

  struct destroyer {
    ~destroyer() { value.~T(); }
    T& value;
  };

  // Owns the memory of a node, and frees it unless take() is called.
  class memory_owner {
   public:
    explicit memory_owner(const node_allocator& allocator)
        : allocator_(allocator), node_(node_traits::allocate(allocator_, 1)) {}
    ~memory_owner() {
      if (node_ != nullptr) node_traits::deallocate(allocator_, node_, 1);
    }
    memory_owner(const memory_owner&) = delete;
    memory_owner& operator=(const memory_owner&) = delete;
    node* get() const { return node_; }
    node* take() {
      node* const taken = node_;
      node_ = nullptr;
      return taken;
    }

   private:
    node_allocator allocator_;  // a copy: several threads allocate at the same time
    node* node_;
  };

  // Owns an element, and destroys it unless release() is called.
  class element_owner {
   public:
    element_owner(enumerable_thread_specific& from, node* element)
        : allocator_(from.allocator_), node_(element) {}
    ~element_owner() {
      if (node_ == nullptr) return;
      node_->value.~T();
      node_traits::deallocate(allocator_, node_, 1);
    }
    element_owner(const element_owner&) = delete;
    element_owner& operator=(const element_owner&) = delete;
    node* get() const { return node_; }
    void release() { node_ = nullptr; }

   private:
    node_allocator allocator_;
    node* node_;
  };

  using by_stack = std::integral_constant<bool, KeyUsage == ets_suspend_aware>;
  static std::uintptr_t key() noexcept { return key(by_stack()); }
  static std::uintptr_t key(std::false_type) noexcept { return detail::thread_key(); }
  static std::uintptr_t key(std::true_type) noexcept {
    const std::uintptr_t stack = detail::stack_key();
    return stack != 0 ? stack : detail::thread_key();
  }

  T& element(size_type i) const { return static_cast<node*>(elements_[i])->value; }

  // Returns a node whose T make(address) makes.
  template <typename Make>
  node* new_node(const Make& make) {
    memory_owner memory(allocator_);
    make(static_cast<void*>(&memory.get()->value));
    return memory.take();
  }

  reference make_local() {
    element_owner made(*this, new_node(make_));
    elements_.add(key(), made.get());
    node* const added = made.get();
    made.release();
    return added->value;
  }

  // Adds a new element for each element of `other`: make_one(address, element) makes it.
  template <typename Other, typename MakeOne>
  void add_elements(Other& other, const MakeOne& make_one) {
    const size_type count = other.size();
    for (size_type i = 0; i < count; ++i) {
      auto& original = other.element(i);
      element_owner made(*this, new_node([&](void* address) { make_one(address, original); }));
      elements_.add(other.elements_.key_of(i), made.get());
      made.release();
    }
  }

  struct copy_one {
    void operator()(void* address, const T& original) const { ::new (address) T(original); }
  };
  struct move_one {
    void operator()(void* address, T& original) const { ::new (address) T(std::move(original)); }
  };

  // Clears the object if a constructor throws: the destructor does not run then.
  struct cleaner {
    ~cleaner() {
      if (object != nullptr) object->clear();
    }
    enumerable_thread_specific* object;
  };

  template <typename Other>
  void copy_elements(const Other& other) {
    cleaner at_throw{this};
    add_elements(other, copy_one());
    at_throw.object = nullptr;
  }
  template <typename Other>
  void take_elements(Other& other) {
    cleaner at_throw{this};
    add_elements(other, move_one());
    other.clear();
    at_throw.object = nullptr;
  }
  void take_elements(enumerable_thread_specific& other) noexcept { swap_elements(other); }

  void swap_elements(enumerable_thread_specific& other) noexcept {
    std::swap(allocator_, other.allocator_);
    elements_.swap(other.elements_);
  }
  void swap(enumerable_thread_specific& other) noexcept {
    make_.swap(other.make_);
    swap_elements(other);
  }

  std::function<void(void*)> make_;
  node_allocator allocator_;
  detail::element_table<Allocator> elements_;
};

}  // namespace corbel

#endif  // CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP
