// SPDX-License-Identifier: Apache-2.0
// TBB's interface to profilers, so that programs that use it compile. Corbel supports no profiler
// and ignores the names. C++11 and later.
#ifndef CORBEL_PROFILING_HPP
#define CORBEL_PROFILING_HPP

#include <string>

// Qt defines `emit` as an empty macro, which would erase the function name below.
#pragma push_macro("emit")
#undef emit

namespace corbel {

// Names a lock; does nothing. Any thread may call it. Here and not in profiling, so that an
// unqualified call finds it.
template <typename Lock, typename = typename Lock::scoped_lock>
inline void set_name(Lock&, const char*) noexcept {}

namespace profiling {

using corbel::set_name;

// A named event; does nothing. Any thread may use it.
class event {
 public:
  explicit event(const std::string&) noexcept {}
  // Reports that the event happens now.
  void emit() noexcept {}
  static void emit(const std::string&) noexcept {}
};

}  // namespace profiling
}  // namespace corbel

#pragma pop_macro("emit")

#endif  // CORBEL_PROFILING_HPP
