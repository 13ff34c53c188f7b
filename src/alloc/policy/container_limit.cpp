// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/container_limit.hpp"

#include "alloc/heap/flush.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "alloc/policy/heap_limit.hpp"

namespace corbel::alloc {

constinit ContainerLimit container_limit;

namespace {

using Kind = MemoryAmount::Kind;

}  // namespace

bool Shortage::look(const os::MemoryGrant& grant, std::uint64_t now_ms) {
  const std::uint64_t elapsed = now_ms - last_ms_;
  bool is_short = false;
  // A count that has fallen comes from another cgroup, to which the process was moved.
  if (looked_ && grant.knows_stalls != last_.knows_stalls) {
    is_short = false;
  } else if (looked_ && grant.knows_stalls) {
    is_short = grant.stalled_us > last_.stalled_us && elapsed != 0 &&
               grant.stalled_us - last_.stalled_us >= elapsed * 1000 / 10;
  } else if (looked_) {
    is_short = grant.collisions > last_.collisions;
  }
  last_ = grant;
  last_ms_ = now_ms;
  looked_ = true;
  return is_short;
}

void ContainerLimit::ask_soft(const MemoryAmount& amount, LimitSource source) {
  ask(soft_, amount, source);
}

void ContainerLimit::ask_hard(const MemoryAmount& amount, LimitSource source) {
  ask(hard_, amount, source);
}

void ContainerLimit::ask(Asked& asked, const MemoryAmount& amount, LimitSource source) {
  sync::LockGuard guard(lock_);
  if (source < asked.source) return;
  asked = {amount, source};
  // relaxed: see container_limit.hpp
  is_wanted_.store(!(soft_.is_none() && hard_.is_none()), std::memory_order_relaxed);
  if (amount.kind != Kind::kBytes) read();
  const Limits limits = limits_now();
  heap_limit.set(limits.soft, limits.hard);
}

// relaxed throughout: see container_limit.hpp
bool ContainerLimit::is_due() const {
  if (!is_wanted_.load(std::memory_order_relaxed)) return false;
  if (!was_read_.load(std::memory_order_relaxed)) return true;
  return std::uint32_t(os::now_ms()) - read_at_.load(std::memory_order_relaxed) >= kInterval;
}

bool ContainerLimit::read_if_due() {
  // If another thread is reading, do not wait for it.
  if (!lock_.try_lock()) return false;
  bool is_short = false;
  if (is_due()) {
    is_short = read();
    const Limits limits = limits_now();
    // Set the limits only if they have changed: setting them also resets a ceiling that was lifted
    // (heap_limit.hpp).
    if (limits.soft != heap_limit.soft() || limits.hard != heap_limit.hard()) {
      heap_limit.set(limits.soft, limits.hard);
    }
  }
  lock_.unlock();
  return is_short;
}

bool ContainerLimit::read() {
  const os::MemoryGrant grant = os::read_memory_grant();
  const std::uint64_t now = os::now_ms();
  // relaxed both: see container_limit.hpp
  read_at_.store(std::uint32_t(now), std::memory_order_relaxed);
  was_read_.store(true, std::memory_order_relaxed);
  return shortage_.look(grant, now);
}

ContainerLimit::Limits ContainerLimit::limits_now() const {
  const os::MemoryGrant& grant = shortage_.last();
  return {soft_limit_of(soft_.amount, grant), hard_limit_of(hard_.amount, grant)};
}

bool memory_is_short() {
  if (!container_limit.refresh()) return false;
  request_flush();
  return true;
}

ContainerLimit::Figures ContainerLimit::figures() {
  sync::LockGuard guard(lock_);
  return figures_under_lock();
}

ContainerLimit::Figures ContainerLimit::figures_under_lock() const {
  const std::size_t limit = shortage_.last().limit;
  return {soft_.source, hard_.source, limit != SIZE_MAX ? limit : 0};
}

}  // namespace corbel::alloc
