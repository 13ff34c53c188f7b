// SPDX-License-Identifier: Apache-2.0
// Converts a limit, as it is given to Corbel, to bytes. The corbel command uses this too, so that
// it shows what the library does.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/memory_amount.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace limit_amount {

// `share` hundredths of a per cent of `bytes`, computed without overflow.
constexpr std::size_t share_of(std::size_t bytes, std::size_t share) {
  return bytes / 10000 * share + bytes % 10000 * share / 10000;
}

// The `auto` limit in a container: the container's limit less a reserve for memory that is not the
// heap's. The reserve is a part of the limit, at least `least` bytes, but never more than half of
// the limit, so that the smallest containers keep room for a heap.
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
      // At least 1: a tiny share must not become 0, which means "no limit".
      return whole == 0 ? 0 : std::max<std::size_t>(share_of(whole, amount.value), 1);
    }
    case MemoryAmount::Kind::kAuto:
      break;
  }
  return contained ? std::max<std::size_t>(automatic(grant.limit, divisor, least), 1) : 0;
}

}  // namespace limit_amount

// The soft limit for `amount`, in bytes; 0: none. For `auto` the reserve is 1/8 of the container's
// limit, for the program's other memory (docs/decisions/0011-containers.md).
constexpr std::size_t soft_limit_of(const MemoryAmount& amount, const os::MemoryGrant& grant) {
  return limit_amount::resolve(amount, grant, 8, std::size_t(8) << 20);
}

// The hard limit for `amount`, in bytes; 0: none. For `auto` the reserve is half as large, so that
// the soft limit takes effect first.
constexpr std::size_t hard_limit_of(const MemoryAmount& amount, const os::MemoryGrant& grant) {
  return limit_amount::resolve(amount, grant, 16, std::size_t(4) << 20);
}

}  // namespace corbel::alloc
