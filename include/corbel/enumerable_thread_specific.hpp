// SPDX-License-Identifier: Apache-2.0
// A variable that each thread has its own of, and that can be gone through thread by thread. C++11
// upwards; enumerable_thread_specific of the oneTBB specification.
#ifndef CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP
#define CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/blocked_range.hpp>
#include <corbel/cache_aligned_allocator.hpp>
#include <corbel/detail/ets_iterator.hpp>
#include <corbel/detail/ets_maker.hpp>
#include <corbel/detail/thread_slots.hpp>
#include <corbel/flattened2d.hpp>

namespace corbel {

// How the specification lets a program choose between space and time. One way of finding the
// element serves all here, without a limit to the number of objects; the types stay different.
enum ets_key_usage_type { ets_key_per_instance, ets_no_key, ets_suspend_aware };

template <typename T, typename Allocator = cache_aligned_allocator<T>,
          ets_key_usage_type KeyUsage = ets_no_key>
class enumerable_thread_specific;

namespace detail {
// Whether the second is an enumerable_thread_specific of the first.
template <typename T, typename Other>
struct is_ets_of : std::false_type {};
template <typename T, typename Allocator, ets_key_usage_type KeyUsage>
struct is_ets_of<T, enumerable_thread_specific<T, Allocator, KeyUsage>> : std::true_type {};
}  // namespace detail

// Holds a T for each thread that has called local(). An element is made at the thread's first call,
// and stays when the thread ends, until the object is cleared or destroyed; a new thread that the
// system gives the identity of one that has ended takes over its element.
//
// local() may be called from any thread, beside size(), empty(), iteration and other calls of
// local(); the second call of a thread and those after it take no lock. What is reached by
// iteration while its thread uses it is for the program to protect. All other functions must not
// run beside any.
//
// Elements and tables are in memory from Allocator, which must be default-constructible; each
// element has cache lines of its own, if the allocator aligns blocks to them as the default does.
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

  // Elements are made by T().
  enumerable_thread_specific() : make_(detail::ets_make_default<T>()) {}

  // Elements are made from what `finit()` returns, which several threads may call at a time.
  template <typename Finit, typename = typename std::enable_if<
                                detail::is_callable<typename std::decay<Finit>::type>::value>::type>
  explicit enumerable_thread_specific(Finit finit)
      : make_(detail::ets_make_by_call<T, Finit>{std::move(finit)}) {}

  // Elements are copies of `exemplar`.
  explicit enumerable_thread_specific(const T& exemplar)
      : make_(detail::ets_make_copy<T>{exemplar}) {}
  explicit enumerable_thread_specific(T&& exemplar)
      : make_(detail::ets_make_copy<T>{std::move(exemplar)}) {}

  // Elements are made by T(arg, args...), from copies of the arguments that are kept.
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

  // Copies the elements, which belong to the same threads, and how new ones are made.
  enumerable_thread_specific(const enumerable_thread_specific& other) : make_(other.make_) {
    copy_elements(other);
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific(
      const enumerable_thread_specific<T, OtherAllocator, kOtherUsage>& other)
      : make_(other.make_) {
    copy_elements(other);
  }

  // The same, and leaves `other` without elements. Elements themselves are moved only where the
  // types differ; else they stay where they are.
  enumerable_thread_specific(enumerable_thread_specific&& other) : make_(other.make_) {
    take_elements(other);
  }
  template <typename OtherAllocator, ets_key_usage_type kOtherUsage>
  enumerable_thread_specific(enumerable_thread_specific<T, OtherAllocator, kOtherUsage>&& other)
      : make_(other.make_) {
    take_elements(other);
  }

  // As the constructors, in place of what was there. When one throws, nothing has changed.
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

  // The calling thread's element, made if there is none; `exists` says whether there was. What its
  // constructor or the allocator throws passes, and the thread has none yet.
  reference local() {
    void* const found = slots_.find();
    return found != nullptr ? static_cast<node*>(found)->value : make_local();
  }
  reference local(bool& exists) {
    void* const found = slots_.find();
    exists = found != nullptr;
    return exists ? static_cast<node*>(found)->value : make_local();
  }

  // The number of elements.
  size_type size() const { return slots_.size(); }
  bool empty() const { return size() == 0; }

  // Destroys all elements.
  void clear() noexcept {
    const size_type count = size();
    for (size_type i = 0; i < count; ++i) element_owner(*this, static_cast<node*>(slots_[i]));
    slots_.clear();
  }

  // All elements, in the order in which they were made. Iterators stay valid while elements are
  // added, until the object is cleared, assigned to, moved from or destroyed.
  iterator begin() { return iterator(this, 0); }
  iterator end() { return iterator(this, size()); }
  const_iterator begin() const { return const_iterator(this, 0); }
  const_iterator end() const { return const_iterator(this, size()); }

  // The same as a range for algorithms, whose parts of up to `grainsize` elements stay whole.
  range_type range(size_type grainsize = 1) { return range_type(begin(), end(), grainsize); }
  const_range_type range(size_type grainsize = 1) const {
    return const_range_type(begin(), end(), grainsize);
  }

  // f(...f(f(e0, e1), e2)...) of all elements; of one, that one; of none, what a new one would be.
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

  // Calls f(element) for each.
  template <typename Function>
  void combine_each(Function f) {
    const size_type count = size();
    for (size_type i = 0; i < count; ++i) f(element(i));
  }

 private:
  // With cache lines of its own, if the first byte is at the beginning of one.
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

  // Memory of a node that goes back if nobody takes it.
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
    node_allocator allocator_;  // its own: several threads allocate at a time
    node* node_;
  };

  // An element that is destroyed if nobody takes it.
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

  T& element(size_type i) const { return static_cast<node*>(slots_[i])->value; }

  // make(address) makes a T there.
  template <typename Make>
  node* new_node(const Make& make) {
    memory_owner memory(allocator_);
    make(static_cast<void*>(&memory.get()->value));
    return memory.take();
  }

  reference make_local() {
    element_owner made(*this, new_node(make_));
    slots_.add(made.get());
    node* const added = made.get();
    made.release();
    return added->value;
  }

  // Enters for each element of `other` one that `make_one(address, that element)` makes.
  template <typename Other, typename MakeOne>
  void add_elements(Other& other, const MakeOne& make_one) {
    const size_type count = other.size();
    for (size_type i = 0; i < count; ++i) {
      auto& original = other.element(i);
      element_owner made(*this, new_node([&](void* address) { make_one(address, original); }));
      slots_.add(other.slots_.key_of(i), made.get());
      made.release();
    }
  }

  struct copy_one {
    void operator()(void* address, const T& original) const { ::new (address) T(original); }
  };
  struct move_one {
    void operator()(void* address, T& original) const { ::new (address) T(std::move(original)); }
  };

  // For constructors: when one throws, the destructor will not run.
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
    slots_.swap(other.slots_);
  }
  void swap(enumerable_thread_specific& other) noexcept {
    make_.swap(other.make_);
    swap_elements(other);
  }

  std::function<void(void*)> make_;
  node_allocator allocator_;
  detail::thread_slots<Allocator> slots_;
};

}  // namespace corbel

#endif  // CORBEL_ENUMERABLE_THREAD_SPECIFIC_HPP
