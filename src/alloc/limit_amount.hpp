// SPDX-License-Identifier: Apache-2.0
// What a limit as it is asked for comes to in bytes. The corbel command uses it too, so that what
// it shows is what the library does.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/memory_amount.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace limit_amount {

// A share in hundredths of a per cent, without overflow.
constexpr std::size_t share_of(std::size_t bytes, std::size_t share) {
  return bytes / 10000 * share + bytes % 10000 * share / 10000;
}

// A container's limit less a part of it that is not the heap's, and never less than half, of which
// the smallest containers would leave nothing.
constexpr std::size_t automatic(std::size_t limit, std::size_t divisor, std::size_t least) {
  return limit - std::min(std::max(limit / divisor, least), limit / 2);
}

constexpr std::size_t resolve(const MemoryAmount& amount, const os::MemoryGrant& grant,
                              std::size_t divisor, std::size_t least) {
  const bool contained = grant.limit != SIZE_MAX;
  switch (amount.kind) {
    case MemoryAmount::Kind::kBytes:
      return amount.value;
    case MemoryAmount::Kind::kShare: {
      const std::size_t whole = contained ? grant.limit : grant.physical;
      // A share of next to nothing is not "no limit".
      return whole == 0 ? 0 : std::max<std::size_t>(share_of(whole, amount.value), 1);
    }
    case MemoryAmount::Kind::kAuto:
      break;
  }
  return contained ? std::max<std::size_t>(automatic(grant.limit, divisor, least), 1) : 0;
}

}  // namespace limit_amount

// The bytes of the soft limit that `amount` asks for; 0: none. What `auto` leaves free of a
// container's limit is for the program's other memory (docs/decisions/0011-containers.md).
constexpr std::size_t soft_limit_of(const MemoryAmount& amount, const os::MemoryGrant& grant) {
  return limit_amount::resolve(amount, grant, 8, std::size_t(8) << 20);
}

// The same for the hard limit: half as much is left free, so that the soft limit has a chance
// first.
constexpr std::size_t hard_limit_of(const MemoryAmount& amount, const os::MemoryGrant& grant) {
  return limit_amount::resolve(amount, grant, 16, std::size_t(4) << 20);
}

}  // namespace corbel::alloc
