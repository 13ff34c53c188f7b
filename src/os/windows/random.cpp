// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

std::uint64_t random_word() {
  LastErrorGuard guard;
  // RtlGenRandom(), by the name that it is exported under.
  using Generate = BOOLEAN WINAPI(void*, ULONG);
  std::uint64_t word = 0;
  for (const char* library : {"cryptbase.dll", "advapi32.dll"}) {
    auto* const generate = find_function<Generate>(library, "SystemFunction036");
    if (generate != nullptr && generate(&word, sizeof word)) return word;
  }
  // The process has neither library. A clock can be guessed, but not the rest without reading
  // the process.
  static constinit std::atomic<std::uint64_t> calls{0};
  // relaxed: only the number matters
  word = now_ns() ^ (calls.fetch_add(1, std::memory_order_relaxed) << 48) ^
         (std::uint64_t(GetCurrentProcessId()) << 32) ^ reinterpret_cast<std::uintptr_t>(&word);
  // The finisher of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014).
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

}  // namespace corbel::os
