// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

#ifndef GRND_NONBLOCK
#define GRND_NONBLOCK 1
#endif

namespace corbel::os {

std::uint64_t random_word() {
  ErrnoGuard guard;
  std::uint64_t word = 0;
  if (syscall(SYS_getrandom, &word, sizeof word, GRND_NONBLOCK) == sizeof word) return word;
  // Early after the start of the machine, or in a sandbox: the addresses of a process are random.
  word = now_ms() * 0x9e3779b97f4a7c15U ^ reinterpret_cast<std::uintptr_t>(&word) << 16;
  return word ^ reinterpret_cast<std::uintptr_t>(&random_word) * 0x9e3779b97f4a7c15U;
}

}  // namespace corbel::os
