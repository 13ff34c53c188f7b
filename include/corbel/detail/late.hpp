// SPDX-License-Identifier: Apache-2.0
// An object that is made and destroyed by hand. Not for programs to include.
#ifndef CORBEL_DETAIL_LATE_HPP
#define CORBEL_DETAIL_LATE_HPP

#include <cstddef>
#include <new>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// Room for a T of any alignment, in which one is made and destroyed by hand.
template <typename T>
class late {
 public:
  late() = default;
  late(const late&) = delete;
  late& operator=(const late&) = delete;

  template <typename... Arguments>
  T& make(Arguments&&... arguments) {
    return *::new (static_cast<void*>(&get())) T(std::forward<Arguments>(arguments)...);
  }
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

#endif  // CORBEL_DETAIL_LATE_HPP
