// SPDX-License-Identifier: Apache-2.0
// Memory resources ([mem.res]) for std::pmr containers. Empty before C++17 and if the standard
// library has no <memory_resource>. Follows the oneTBB specification 1.4.
#ifndef CORBEL_MEMORY_RESOURCE_HPP
#define CORBEL_MEMORY_RESOURCE_HPP

#include <corbel/detail/allocate.hpp>

#if CORBEL_HAS_MEMORY_RESOURCE

#include <cstddef>
#include <memory_resource>

namespace corbel {

namespace detail {

class ScalableResource final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return allocate_or_throw(scalable_allocate, bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { scalable_free(block); }
  // A program has only one object of this class, unless hidden visibility gives a shared object a
  // copy of its own; comparing unequal then only costs speed.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

// Holds the resource, which is never destroyed: containers with static storage may outlive any
// destructor that would run here.
union ScalableResourceHolder {
  constexpr ScalableResourceHolder() noexcept : nothing() {}
  ~ScalableResourceHolder() {}
  char nothing;
  ScalableResource resource;
};

}  // namespace detail

// Returns the resource that serves every request, at any alignment, from the scalable allocator.
// Its allocate calls the new-handler as operator new does, and throws std::bad_alloc. Always
// returns the same object, which any thread may use and which is never destroyed.
inline std::pmr::memory_resource* scalable_memory_resource() noexcept {
  static detail::ScalableResourceHolder holder;
  static std::pmr::memory_resource* const resource =
      ::new (&holder.resource) detail::ScalableResource;
  return resource;
}

// Forwards requests to an upstream resource, with the alignment raised to at least a cache line.
// Throws what the upstream resource throws and is as thread-safe as it is. Does not own the
// upstream resource, which must outlive it.
class cache_aligned_resource : public std::pmr::memory_resource {
 public:
  // Forwards to `upstream`, or to the default resource at the time of construction.
  cache_aligned_resource() : cache_aligned_resource(std::pmr::get_default_resource()) {}
  explicit cache_aligned_resource(std::pmr::memory_resource* upstream) : upstream_(upstream) {}

  // Returns the resource given to the constructor.
  std::pmr::memory_resource* upstream_resource() const { return upstream_; }

 private:
  static std::size_t raised(std::size_t alignment) {
    return alignment > detail::kCacheLine ? alignment : detail::kCacheLine;
  }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return upstream_->allocate(bytes, raised(alignment));
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (block != nullptr) upstream_->deallocate(block, bytes, raised(alignment));
  }
  // Equal if the other resource is of this class too and has an equal upstream. Without RTTI the
  // class of the other is unknown, and only the same object is equal.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    if (this == &other) return true;
#if defined(__cpp_rtti) || defined(__GXX_RTTI)
    const auto* same = dynamic_cast<const cache_aligned_resource*>(&other);
    return same != nullptr && *upstream_ == *same->upstream_;
#else
    return false;
#endif
  }

  std::pmr::memory_resource* upstream_;
};

}  // namespace corbel

#endif  // CORBEL_HAS_MEMORY_RESOURCE

#endif  // CORBEL_MEMORY_RESOURCE_HPP
