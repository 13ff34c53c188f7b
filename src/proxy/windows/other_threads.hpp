// SPDX-License-Identifier: Apache-2.0
// The other threads of the process, stopped while code is changed under them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::proxy {

class OtherThreads {
 public:
  OtherThreads() = default;
  ~OtherThreads() { let_go(); }
  OtherThreads(const OtherThreads&) = delete;
  OtherThreads& operator=(const OtherThreads&) = delete;

  // Stops them all. From then on until let_go() the caller may take no lock and call nothing that
  // takes one: a stopped thread may hold it. False, and none is stopped, if they are too many or
  // the system refuses.
  bool stop();
  void let_go();

  // Whether `is_at(instruction)` holds for the next instruction of one of them, or may hold because
  // the system does not tell where it is.
  template <class IsAt>
  bool any(IsAt is_at) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uintptr_t next = next_instruction(i);
      if (next == 0 || is_at(next)) return true;
    }
    return false;
  }

 private:
  static std::uintptr_t next_instruction(std::size_t i);
  bool stop_new();

  std::size_t count_ = 0;
};

}  // namespace corbel::proxy
