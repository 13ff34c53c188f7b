// SPDX-License-Identifier: Apache-2.0
// Limits that follow what the system grants: in a container the heap stays below the container's
// limit without being told, and a share (80%) is a share of that limit.
//
// The files that say so are read late and seldom: never below 16 MiB, where there is nothing to be
// gained, then at most once a second and only while the heap grows or the helper thread is about.
// A program that sets the limit to "none" keeps the allocator from opening files altogether.
// A limit that changes while the program runs is noticed in this way. The same look shows whether
// tasks wait for memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/footprint.hpp"
#include "alloc/limit_amount.hpp"
#include "alloc/lock_ranks.hpp"
#include "base/memory_amount.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

// Whether memory is short: tasks have spent a tenth of the time since the last look waiting for it.
class Shortage {
 public:
  bool look(const os::MemoryGrant& grant, std::uint64_t now_ms);

  const os::MemoryGrant& last() const { return last_; }

 private:
  os::MemoryGrant last_{};
  std::uint64_t last_ms_ = 0;
  bool looked_ = false;
};

// Who has asked for a limit.
enum class LimitSource : std::uint8_t { kDefault, kEnvironment, kCall };

class ContainerLimit {
 public:
  constexpr ContainerLimit() = default;

  // What is asked for from now on. A share, and `auto` but for the default, are looked up at once.
  // What a call asks for is not changed by the environment any more.
  void ask_soft(const MemoryAmount& amount, LimitSource source);
  void ask_hard(const MemoryAmount& amount, LimitSource source);

  // Who has asked for the limits in force, and what the container grants, when last looked; 0: no
  // limit, or not looked yet.
  struct Figures {
    LimitSource soft;
    LimitSource hard;
    std::size_t container;
  };
  Figures figures();

  // Brings the limits up to date, if it is time for that. True if memory is short and what can be
  // spared should go back. The caller holds no lock.
  bool refresh() {
    // Next to always this is one comparison.
    return footprint.bytes() >= kSmall && is_due() && read_if_due();
  }

  sync::Lock& lock() { return lock_; }

 private:
  static constexpr std::size_t kSmall = std::size_t(16) << 20;
  static constexpr std::uint32_t kInterval = 1000;  // milliseconds

  struct Asked {
    MemoryAmount amount;
    LimitSource source;

    bool is_none() const { return amount.kind == MemoryAmount::Kind::kBytes && amount.value == 0; }
  };

  struct Limits {
    std::size_t soft;
    std::size_t hard;
  };

  void ask(Asked& asked, const MemoryAmount& amount, LimitSource source);
  bool is_due() const;
  bool read_if_due();
  bool read();
  Limits limits_now() const;

  sync::Lock lock_{lock_rank::kContainer};
  // These three under lock_.
  Asked soft_{{MemoryAmount::Kind::kAuto, 0}, LimitSource::kDefault};
  Asked hard_{{MemoryAmount::Kind::kBytes, 0}, LimitSource::kDefault};
  Shortage shortage_{};
  // relaxed both: who sees an old value looks once too often or too late.
  std::atomic<std::uint32_t> read_at_{0};  // os::now_ms(), cut
  std::atomic<bool> is_wanted_{true};      // false: "none" was asked for, so no file is opened
  std::atomic<bool> was_read_{false};
};

extern ContainerLimit container_limit;

}  // namespace corbel::alloc
