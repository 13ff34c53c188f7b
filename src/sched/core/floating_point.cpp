// SPDX-License-Identifier: Apache-2.0
#include "sched/core/floating_point.hpp"

#include <corbel/task_group_context.hpp>

#include "arch/arch.hpp"

namespace corbel {
namespace sched {

// A lasting_node that is linked has a copy of the settings above it, so the search never follows a
// link that another thread could cut. No other node without a link is below a context with
// settings.
const task_group_context* floating_point_source(const context_node& context) {
  using Node = context_node;
  for (const Node* n = &context;;) {
    // relaxed, both: set before the context has tasks
    const std::uint64_t state = n->state.load(std::memory_order_relaxed);
    if ((state & Node::kFloatingPoint) == 0) return nullptr;
    const std::uintptr_t link = n->link.load(std::memory_order_relaxed);
    if ((state & Node::kOwnFloatingPoint) != 0 || (link & Node::kMayBeCut) != 0 || link == 0) {
      return detail::context_access::context(const_cast<Node&>(*n));
    }
    n = Node::at(link);
  }
}

FloatingPointScope::FloatingPointScope(Thread& t, const context_node& context,
                                       std::uint32_t of_arena)
    : thread_(t), before_(arch::floating_point()), had_(t.has_floating_point) {
  const task_group_context* const source = floating_point_source(context);
  t.has_floating_point = source != nullptr;
  arch::set_floating_point(source == nullptr ? of_arena
                                             : detail::context_access::floating_point(*source));
}

FloatingPointScope::~FloatingPointScope() {
  arch::set_floating_point(before_);
  thread_.has_floating_point = had_;
}

}  // namespace sched

namespace detail {

namespace {
constexpr std::uint64_t kHad = std::uint64_t{1} << 32;
constexpr std::uint64_t kSaved = std::uint64_t{1} << 33;
}  // namespace

std::uint64_t context_access::use_floating_point(thread_data& thread,
                                                 std::uint32_t settings) noexcept {
  sched::Thread& t = static_cast<sched::Thread&>(thread);
  const std::uint64_t before = arch::floating_point() | kSaved | (t.has_floating_point ? kHad : 0);
  t.has_floating_point = true;
  arch::set_floating_point(settings);
  return before;
}

std::uint64_t context_access::use_arena_floating_point(thread_data& thread) noexcept {
  const sched::Thread& t = static_cast<sched::Thread&>(thread);
  if (t.context != &t.root || t.has_floating_point) return 0;
  const std::uint32_t before = arch::floating_point();
  if (before == t.arena_floating_point) return 0;
  arch::set_floating_point(t.arena_floating_point);
  return before | kSaved;
}

void context_access::take_floating_point(task_group_context& context,
                                         thread_data& thread) noexcept {
  const task_group_context* const source = sched::floating_point_source(*thread.context);
  if (source == nullptr) return;
  // relaxed, both: no other thread has the context yet
  context.floating_point_.store(floating_point(*source), std::memory_order_relaxed);
  context.state.fetch_or(context_node::kFloatingPoint | context_node::kOwnFloatingPoint,
                         std::memory_order_relaxed);
}

void context_access::restore_floating_point(thread_data& thread, std::uint64_t before) noexcept {
  arch::set_floating_point(std::uint32_t(before));
  static_cast<sched::Thread&>(thread).has_floating_point = (before & kHad) != 0;
}

}  // namespace detail
}  // namespace corbel
