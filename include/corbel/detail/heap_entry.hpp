// SPDX-License-Identifier: Apache-2.0
// How a heap keeps its elements. Not for programs to include.
#ifndef CORBEL_DETAIL_HEAP_ENTRY_HPP
#define CORBEL_DETAIL_HEAP_ENTRY_HPP

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/manual_lifetime.hpp>

namespace corbel {
namespace detail {

// Elements whose move constructor does not throw are in the heap's array. The array of others has
// pointers to them: those can be moved, whatever the element does.
//
// A new_entry is an element that is not in a heap yet; it is made without access to the heap. Its
// constructor throws what the allocator or the element's constructor throws.
template <typename T, typename Allocator,
          bool kInArray = std::is_nothrow_move_constructible<T>::value>
struct heap_entries {
  using type = T;
  using traits = std::allocator_traits<Allocator>;

  static T& value(T& entry) { return entry; }

  static void move(Allocator& allocator, T* to, T* from) noexcept {
    traits::construct(allocator, to, std::move(*from));
    traits::destroy(allocator, from);
  }
  static void destroy(Allocator& allocator, T* entry) noexcept {
    traits::destroy(allocator, entry);
  }

  class new_entry {
   public:
    template <typename... Args>
    explicit new_entry(Allocator& allocator, Args&&... args) : allocator_(allocator) {
      traits::construct(allocator, &value_.get(), std::forward<Args>(args)...);
    }
    ~new_entry() { traits::destroy(allocator_, &value_.get()); }
    new_entry(const new_entry&) = delete;
    new_entry& operator=(const new_entry&) = delete;

    T& value() { return value_.get(); }
    // Moves the element to `place`.
    void take(Allocator& allocator, T* place) noexcept {
      traits::construct(allocator, place, std::move(value_.get()));
    }

   private:
    Allocator& allocator_;
    manual_lifetime<T> value_;
  };
};

template <typename T, typename Allocator>
struct heap_entries<T, Allocator, false> {
  using traits = std::allocator_traits<Allocator>;
  using type = typename traits::pointer;

  static T& value(const type& entry) { return *entry; }

  static void move(Allocator&, type* to, type* from) noexcept {
    ::new (static_cast<void*>(to)) type(*from);
  }
  static void destroy(Allocator& allocator, type* entry) noexcept {
    traits::destroy(allocator, std::addressof(**entry));
    traits::deallocate(allocator, *entry, 1);
  }

  class new_entry {
   public:
    template <typename... Args>
    explicit new_entry(Allocator& allocator, Args&&... args) : memory_(allocator) {
      traits::construct(memory_.allocator, std::addressof(*memory_.block),
                        std::forward<Args>(args)...);
      is_made_ = true;
    }
    ~new_entry() {
      if (is_made_) traits::destroy(memory_.allocator, std::addressof(*memory_.block));
    }
    new_entry(const new_entry&) = delete;
    new_entry& operator=(const new_entry&) = delete;

    T& value() { return *memory_.block; }
    void take(Allocator&, type* place) noexcept {
      ::new (static_cast<void*>(place)) type(memory_.block);
      memory_.block = nullptr;
      is_made_ = false;
    }

   private:
    struct memory {
      explicit memory(const Allocator& a) : allocator(a), block(traits::allocate(allocator, 1)) {}
      ~memory() {
        if (block != nullptr) traits::deallocate(allocator, block, 1);
      }
      Allocator allocator;  // a copy: several threads allocate at the same time
      type block;
    };
    memory memory_;
    bool is_made_ = false;
  };
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_HEAP_ENTRY_HPP
