// SPDX-License-Identifier: Apache-2.0
// A relaxed load that the compiler may fold into the instruction that uses the value.
//
// Compilers never fold the load of an atomic object into the comparison or addition that follows.
// That costs an instruction and a register, which matters in malloc and free: they have only a few
// dozen instructions. An aligned word is read indivisibly on every processor Corbel supports, so
// the plain form behaves like a relaxed load there. Reads through the loaded pointer are ordered
// after it by the address dependency alone, which every supported processor respects. Under the
// thread sanitizer, which checks the source, it is an atomic load. The compiler may read a value
// twice if it is used twice.
#pragma once

#include <atomic>

namespace corbel::sync {

template <class T>
inline T plain_load(const std::atomic<T>& object) {
#if defined(__SANITIZE_THREAD__)
  // (1) acquire: stands for the dependency; pairs with the release store of the pointer, which each
  // caller names
  return object.load(std::memory_order_acquire);
#else
  static_assert(sizeof(std::atomic<T>) == sizeof(T));
  T value;
  __builtin_memcpy(&value, &object, sizeof value);
  return value;
#endif
}

}  // namespace corbel::sync
