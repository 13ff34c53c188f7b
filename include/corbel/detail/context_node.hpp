// SPDX-License-Identifier: Apache-2.0
// Cancellation and exceptions of a group of tasks. Every task belongs to a node, and the nodes form
// a tree: cancelling one cancels all below it.
//
// A node does not know its children; it asks upwards, and only when something was cancelled since
// it last asked. One number counts the cancellations of the process. A node that holds the current
// number is not cancelled; else the slow path walks up to the root and writes down what it finds.
// A node on a stack therefore costs two stores, and a check two loads and a comparison.
#ifndef CORBEL_DETAIL_CONTEXT_NODE_HPP
#define CORBEL_DETAIL_CONTEXT_NODE_HPP

#include <atomic>
#include <cstdint>
#include <exception>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

struct context_node {
  // The number of the last cancellation that is known not to concern this node, in steps of
  // kOneCancellation, and these flags. A flag makes the comparison with the current number fail.
  enum : std::uint64_t {
    kCancelled = 1,         // for good; set once
    kFailed = 2,            // cancelled by an exception, which `error` holds
    kFloatingPoint = 4,     // somebody from here up has floating-point settings of its own
    kOwnFloatingPoint = 8,  // this one has
    kLocked = 16,           // a thread is busy with `error`, or `sharers` of a lasting_node
    kOneCancellation = 32
  };

  // What may be added to the address of the node above.
  enum : std::uintptr_t {
    kMayBeCut = 1,  // the link of a lasting_node
    kIsCut = 2,     // nobody goes up there any more
    kIsShared = 4   // several calls below the same node use it
  };

  std::atomic<std::uintptr_t> link;  // 0: a root
  std::atomic<std::uint64_t> state;
  alignas(std::exception_ptr) unsigned char error[sizeof(std::exception_ptr)];  // if kFailed

  // Puts the node below `above`, which is not known to be cancelled.
  void attach_to(context_node& above) {
    // relaxed: these only matter to threads that get the node from this one later
    link.store(link_to(above), std::memory_order_relaxed);
    const std::uint64_t known = above.state.load(std::memory_order_relaxed);
    // Cancelled meanwhile by an exception, it holds that alone.
    state.store(known & ~std::uint64_t{kFailed | kOwnFloatingPoint | kLocked},
                std::memory_order_relaxed);
  }

  // A link, and the node that one leads to.
  static std::uintptr_t link_to(context_node& above) {
    return reinterpret_cast<std::uintptr_t>(&above);
  }
  static context_node* at(std::uintptr_t link) {
    return reinterpret_cast<context_node*>(link & ~std::uintptr_t{kMayBeCut | kIsCut | kIsShared});
  }

  // relaxed: a task that misses a cancellation by a moment runs, as if it had come earlier
  bool is_current(const std::atomic<std::uint64_t>& cancellations) const {
    return state.load(std::memory_order_relaxed) == cancellations.load(std::memory_order_relaxed);
  }

  // acquire: sees the exception that capture() put into `error`
  bool has_failed() const { return (state.load(std::memory_order_acquire) & kFailed) != 0; }
};

// The node of a task_group_context. It may outlast the call that has put it below another node, so
// that call cuts its link when it ends; see context_link.hpp.
struct lasting_node : context_node {
  std::atomic<std::uint32_t> walkers{0};  // that are above it, or about to go there
  std::uint32_t sharers = 0;              // of its link, besides one
};

inline std::atomic<std::uint32_t>& walkers_of(context_node& node) {
  return static_cast<lasting_node&>(node).walkers;
}

// Whether the node or one above it is cancelled. Slow; see worker::is_cancelled.
CORBEL_EXPORT bool find_cancelled(context_node& node) noexcept;

// Cancels the node and all below it. False if it was cancelled already.
CORBEL_EXPORT bool cancel(context_node& node) noexcept;

// In a handler: cancels the node and keeps the current exception for the one who waits for the
// group. Only the first exception of a group is kept, and none if the group was cancelled before.
CORBEL_EXPORT void capture_exception(context_node& node) noexcept;

// In a handler, where the exception goes on to the caller and into no group: throws it again,
// unless exceptions are to end the program.
[[noreturn]] CORBEL_EXPORT void pass_exception();

// Throws what capture_exception kept, if anything; the node is not failed any more. Of several who
// wait for the group one gets it.
CORBEL_EXPORT void rethrow_exception(context_node& node);

// The same, and leaves it there for all who wait: in groups of the program, until it makes them as
// new.
CORBEL_EXPORT void rethrow_copy(const context_node& node);

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONTEXT_NODE_HPP
