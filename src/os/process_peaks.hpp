// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): what it has counted of the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::os {

// 0 where the system does not tell.
struct ProcessPeaks {
  std::size_t resident = 0;  // bytes, at most, of memory in RAM
  std::size_t commit = 0;    // bytes, at most, of memory that the system has promised
  std::uint64_t faults = 0;  // pages that were not there when they were first used
};
ProcessPeaks read_process_peaks();

}  // namespace corbel::os
