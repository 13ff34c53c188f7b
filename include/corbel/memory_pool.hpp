// SPDX-License-Identifier: Apache-2.0
// Memory pools: separate heaps in memory that the program supplies, freed as a whole. memory_pool
// takes memory from an allocator, fixed_pool from one buffer; memory_pool_allocator lets containers
// use either. C++11 and later. Follows oneTBB's preview feature of that name.
#ifndef CORBEL_MEMORY_POOL_HPP
#define CORBEL_MEMORY_POOL_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <corbel/detail/allocate.hpp>
#include <corbel/detail/basic_allocator.hpp>
#include <corbel/raw_pool.hpp>

namespace corbel {

// The common part of memory_pool and fixed_pool. Several threads may call malloc, free and realloc
// at the same time; no other function may run during recycle or the destructor. Sizes are in bytes.
// Blocks are aligned to 16, or to 8 if their size is <= 8.
class pool_base {
 public:
  pool_base(const pool_base&) = delete;
  pool_base& operator=(const pool_base&) = delete;

  // Frees all blocks of the pool at once and keeps its memory for new ones.
  void recycle() { rml::pool_reset(my_pool); }

  // Returns a block of `size` bytes; size 0 returns a unique block. Returns nullptr if the pool
  // cannot get memory.
  void* malloc(std::size_t size) { return rml::pool_malloc(my_pool, size); }

  // Frees a block of this pool. Ignores nullptr.
  void free(void* ptr) { rml::pool_free(my_pool, ptr); }

  // Like realloc (C11 7.22.3.5): (nullptr, n) allocates; (ptr, 0) frees and returns nullptr. On
  // failure returns nullptr and leaves the old block unchanged.
  void* realloc(void* ptr, std::size_t size) { return rml::pool_realloc(my_pool, ptr, size); }

 protected:
  pool_base() noexcept : my_pool(nullptr) {}
  ~pool_base() = default;

  void create(const rml::MemPoolPolicy& policy) {
    const rml::MemPoolError error =
        rml::pool_create_v1(reinterpret_cast<std::intptr_t>(this), &policy, &my_pool);
    if (error == rml::POOL_OK) return;
    if (error == rml::NO_MEMORY) detail::raise(std::bad_alloc());
    if (error == rml::INVALID_POLICY) {
      detail::raise(std::invalid_argument("corbel: invalid memory pool policy"));
    }
    detail::raise(std::runtime_error("corbel: cannot create the memory pool"));
  }
  void destroy() { rml::pool_destroy(my_pool); }

  rml::MemoryPool* my_pool;
};

// A pool that takes its raw memory from `Alloc`, an allocator of any value type, in multiples of
// sizeof(Alloc::value_type) bytes, and returns it as it becomes free. The allocator is called
// without a lock, by any thread, so it must be thread-safe.
template <typename Alloc>
class memory_pool : public pool_base {
  using Traits = std::allocator_traits<Alloc>;
  using Unit = typename Traits::value_type;

 public:
  // Takes no memory from the allocator yet. Throws bad_alloc if the pool's own tables cannot be
  // allocated, invalid_argument or runtime_error if the library rejects the policy.
  explicit memory_pool(const Alloc& src = Alloc()) : my_alloc(src) {
    create(rml::MemPoolPolicy(take, give, sizeof(Unit)));
  }

  // Returns all memory to the allocator; all blocks become invalid.
  ~memory_pool() { destroy(); }

 private:
  static void* take(std::intptr_t id, std::size_t& bytes) {
    memory_pool& self = *reinterpret_cast<memory_pool*>(id);
#if CORBEL_EXCEPTIONS
    try {
      return self.my_alloc.allocate(bytes / sizeof(Unit));
    } catch (...) {
      return nullptr;  // pool functions do not throw: they return nullptr too
    }
#else
    return self.my_alloc.allocate(bytes / sizeof(Unit));
#endif
  }
  static int give(std::intptr_t id, void* raw, std::size_t bytes) {
    memory_pool& self = *reinterpret_cast<memory_pool*>(id);
    self.my_alloc.deallocate(static_cast<Unit*>(raw), bytes / sizeof(Unit));
    return 0;
  }

  Alloc my_alloc;
};

// A pool whose blocks all come from one buffer of the program.
class fixed_pool : public pool_base {
 public:
  // Manages the `size` bytes at `buffer`, which must outlive the pool. Throws invalid_argument if
  // `buffer` is nullptr or `size` 0, bad_alloc if the pool's own tables cannot be allocated.
  fixed_pool(void* buffer, std::size_t size) : my_buffer(buffer), my_size(size) {
    if (buffer == nullptr || size == 0) {
      detail::raise(std::invalid_argument("corbel: fixed_pool needs a buffer"));
    }
    create(rml::MemPoolPolicy(take, nullptr, size, true));
  }

  // All blocks become invalid.
  ~fixed_pool() { destroy(); }

 private:
  static void* take(std::intptr_t id, std::size_t& bytes) {
    fixed_pool& self = *reinterpret_cast<fixed_pool*>(id);
    bytes = self.my_size;
    return self.my_buffer;
  }

  void* my_buffer;
  std::size_t my_size;
};

// An allocator for containers that takes its memory from a pool, which must outlive it. Meets the
// Allocator requirements ([allocator.requirements]). Two are equal if they use the same pool. Its
// functions are as thread-safe as those of the pool.
template <typename T, typename P = pool_base>
class memory_pool_allocator : public detail::basic_allocator<T> {
 public:
  template <typename U>
  struct rebind {
    using other = memory_pool_allocator<U, P>;
  };

  // Takes memory from `pool`.
  explicit memory_pool_allocator(P& pool) noexcept : my_pool(&pool) {}
  memory_pool_allocator(const memory_pool_allocator& src) noexcept = default;
  memory_pool_allocator& operator=(const memory_pool_allocator& src) noexcept = default;
  template <typename U>
  memory_pool_allocator(const memory_pool_allocator<U, P>& src) noexcept : my_pool(src.my_pool) {}

  // Returns memory for n objects, not constructed. Throws bad_alloc if the pool cannot get memory.
  // Does not call the new-handler, which cannot free memory of the pool.
  T* allocate(std::size_t n, const void* = nullptr) {
    void* block = n > this->max_size() ? nullptr : my_pool->malloc(n * sizeof(T));
    if (block == nullptr) detail::raise(std::bad_alloc());
    return static_cast<T*>(block);
  }
  // Returns the memory to the pool.
  void deallocate(T* p, std::size_t) { my_pool->free(p); }

 protected:
  using pool_type = P;
  template <typename U, typename R>
  friend class memory_pool_allocator;
  template <typename V, typename U, typename R>
  friend bool operator==(const memory_pool_allocator<V, R>&, const memory_pool_allocator<U, R>&);

  P* my_pool;
};

// The form for void: cannot allocate, only be rebound to an object type.
template <typename P>
class memory_pool_allocator<void, P> : public detail::basic_allocator<void> {
 public:
  template <typename U>
  struct rebind {
    using other = memory_pool_allocator<U, P>;
  };

  explicit memory_pool_allocator(P& pool) noexcept : my_pool(&pool) {}
  template <typename U>
  memory_pool_allocator(const memory_pool_allocator<U, P>& src) noexcept : my_pool(src.my_pool) {}

 protected:
  using pool_type = P;
  template <typename U, typename R>
  friend class memory_pool_allocator;
  template <typename V, typename U, typename R>
  friend bool operator==(const memory_pool_allocator<V, R>&, const memory_pool_allocator<U, R>&);

  P* my_pool;
};

template <typename T, typename U, typename P>
inline bool operator==(const memory_pool_allocator<T, P>& a, const memory_pool_allocator<U, P>& b) {
  return a.my_pool == b.my_pool;
}
template <typename T, typename U, typename P>
inline bool operator!=(const memory_pool_allocator<T, P>& a, const memory_pool_allocator<U, P>& b) {
  return !(a == b);
}

}  // namespace corbel

#endif  // CORBEL_MEMORY_POOL_HPP
