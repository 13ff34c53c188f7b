// SPDX-License-Identifier: Apache-2.0
// Storage for an object whose lifetime is managed by hand. Not for programs to include.
#ifndef CORBEL_DETAIL_MANUAL_LIFETIME_HPP
#define CORBEL_DETAIL_MANUAL_LIFETIME_HPP

#include <cstddef>
#include <new>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Storage for a T of any alignment, also in a block that is aligned to a cache line only. The owner
// calls make() and destroy(). Not thread-safe.
template <typename T>
class manual_lifetime {
 public:
  manual_lifetime() = default;
  manual_lifetime(const manual_lifetime&) = delete;
  manual_lifetime& operator=(const manual_lifetime&) = delete;

  // Constructs the object. Throws what its constructor throws; there is no object then.
  template <typename... Arguments>
  T& make(Arguments&&... arguments) {
    return *::new (static_cast<void*>(&get())) T(std::forward<Arguments>(arguments)...);
  }

  // The object, or before make() the place where it will be.
  T& get() {
    void* place = bytes_;
    if (kSlack != 0) {
      const std::size_t address = reinterpret_cast<std::size_t>(place);
      place = bytes_ + (alignof(T) - address % alignof(T)) % alignof(T);
    }
    return *static_cast<T*>(place);
  }

  void destroy() { get().~T(); }

 private:
  enum : std::size_t {
    kAlignment = alignof(T) < kCacheLine ? alignof(T) : kCacheLine,
    kSlack = alignof(T) - kAlignment
  };
  alignas(kAlignment) unsigned char bytes_[sizeof(T) + kSlack];
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_MANUAL_LIFETIME_HPP
