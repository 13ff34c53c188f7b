// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {

unsigned usable_processors() {
  LastErrorGuard guard;
  DWORD_PTR process = 0, system = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &process, &system);
  const unsigned count = unsigned(std::popcount(std::uint64_t(process)));
  return count != 0 ? count : 1;
}

}  // namespace corbel::os
