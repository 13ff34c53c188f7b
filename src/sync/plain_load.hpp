// SPDX-License-Identifier: Apache-2.0
// A relaxed load that may become part of the instruction that uses the value.
//
// Compilers keep the load of an atomic object apart from the comparison or addition behind it, an
// instruction and a register more; malloc and free are a few dozen instructions. An aligned word is
// read indivisibly on every processor Corbel runs on, so the plain form behaves as a relaxed load
// there; what the value leads to is ordered behind it by the dependency alone, which no supported
// processor breaks. Under the thread sanitizer, which judges the source, it is an atomic load. A
// value that is used twice may be read twice.
#pragma once

#include <atomic>

namespace corbel::sync {

template <class T>
inline T plain_load(const std::atomic<T>& object) {
#if defined(__SANITIZE_THREAD__)
  return object.load(std::memory_order_acquire);  // what the dependency is otherwise
#else
  static_assert(sizeof(std::atomic<T>) == sizeof(T));
  T value;
  __builtin_memcpy(&value, &object, sizeof value);
  return value;
#endif
}

}  // namespace corbel::sync
