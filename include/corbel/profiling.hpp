// SPDX-License-Identifier: Apache-2.0
// Names for the profilers of TBB. Corbel speaks to none of them, so that the names go nowhere;
// programs that give them are compiled as they are. C++11 upwards.
#ifndef CORBEL_PROFILING_HPP
#define CORBEL_PROFILING_HPP

#include <string>

// Qt's macro, which would make nothing of the name below.
#pragma push_macro("emit")
#undef emit

namespace corbel {
namespace profiling {

// Names a lock. Any thread may call it.
template <typename Lock>
inline void set_name(Lock&, const char*) noexcept {}

// A moment with a name. Any thread may use it.
class event {
 public:
  explicit event(const std::string&) noexcept {}
  // It is now; for an object and without one.
  void emit() noexcept {}
  static void emit(const std::string&) noexcept {}
};

}  // namespace profiling
}  // namespace corbel

#pragma pop_macro("emit")

#endif  // CORBEL_PROFILING_HPP
