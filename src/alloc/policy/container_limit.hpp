// SPDX-License-Identifier: Apache-2.0
// Limits that follow what the system grants. In a container, the heap stays below the container's
// limit without any setting, and a limit given as a share (80%) is a share of the container's
// limit.
//
// The container's files are read rarely. While the footprint is below 16 MiB they are not read at
// all, because there is nothing to gain. Above, they are read at most once a second, and only while
// the heap grows or the helper thread works. So a limit that changes while the program runs is
// noticed. The files also tell whether tasks wait for memory. If the limits are set to "none", the
// allocator opens no file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/map/footprint.hpp"
#include "alloc/map/lock_ranks.hpp"
#include "alloc/policy/limit_amount.hpp"
#include "base/memory_amount.hpp"
#include "os/os.hpp"
#include "sync/lock.hpp"

namespace corbel::alloc {

// Tells from successive readings whether memory is short: whether tasks have waited for memory for
// a tenth of the time since the last reading.
class Shortage {
 public:
  bool look(const os::MemoryGrant& grant, std::uint64_t now_ms);

  const os::MemoryGrant& last() const { return last_; }

 private:
  os::MemoryGrant last_{};
  std::uint64_t last_ms_ = 0;
  bool looked_ = false;
};

// Where a limit comes from.
enum class LimitSource : std::uint8_t { kDefault, kEnvironment, kCall };

class ContainerLimit {
 public:
  constexpr ContainerLimit() = default;

  // Sets a limit. For a share or `auto`, reads the container's files at once. A source of lower
  // rank than the present one's has no effect: a call overrides the environment, even if that is
  // read later.
  void ask_soft(const MemoryAmount& amount, LimitSource source);
  void ask_hard(const MemoryAmount& amount, LimitSource source);

  // The sources of the limits in force, and the container's limit when it was last read; 0: there
  // is none, or it has not been read yet.
  struct Figures {
    LimitSource soft;
    LimitSource hard;
    std::size_t container;
  };
  Figures figures();
  Figures figures_under_lock() const;  // requires: the caller holds the lock

  // Reads the container's files and updates the limits, if the last reading is old enough. Returns
  // true if memory is short: then the caller should give back what it can. Requires: the caller
  // holds no lock.
  bool refresh() {
    // In a small heap this is one comparison.
    return footprint.bytes() >= kSmall && is_due() && read_if_due();
  }

  constexpr sync::Lock& lock() { return lock_; }

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
  // The next three are under lock_.
  Asked soft_{{MemoryAmount::Kind::kAuto, 0}, LimitSource::kDefault};
  Asked hard_{{MemoryAmount::Kind::kBytes, 0}, LimitSource::kDefault};
  Shortage shortage_{};
  // relaxed all: a thread that sees an old value reads the files once too often or too late
  std::atomic<std::uint32_t> read_at_{0};  // os::now_ms(), cut to 32 bits
  std::atomic<bool> is_wanted_{true};      // false: both limits are "none", so no file is opened
  std::atomic<bool> was_read_{false};
};

extern ContainerLimit container_limit;

}  // namespace corbel::alloc
