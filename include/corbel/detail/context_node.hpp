// SPDX-License-Identifier: Apache-2.0
// Cancellation and exceptions of a group of tasks. Every task belongs to a node, and the nodes form
// a tree: cancelling a node cancels all nodes below it. Not for programs to include.
//
// A node does not know its children. A check looks upwards, and only if there was a cancellation
// since the last check. One number counts the cancellations of the process. A node that holds the
// current number is not cancelled; otherwise the slow path walks up to the root and stores what it
// finds. So making a node on a stack costs two stores, and a check two loads and a comparison.
#ifndef CORBEL_DETAIL_CONTEXT_NODE_HPP
#define CORBEL_DETAIL_CONTEXT_NODE_HPP

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/detail/program_runtime.hpp>

namespace corbel {
namespace detail {

struct context_node {
  // The bits of `state`: the number of the last cancellation that is known not to concern this
  // node, in steps of kOneCancellation, and these flags. A flag makes the comparison with the
  // current number fail.
  enum : std::uint64_t {
    kCancelled = 1,         // set once, until the context is reset
    kFailed = 2,            // cancelled by an exception, which `error` holds
    kFloatingPoint = 4,     // this node or one above has floating-point settings of its own
    kOwnFloatingPoint = 8,  // this node has floating-point settings of its own
    kLocked = 16,           // a thread accesses `error`, or `sharers` of a lasting_node
    kOneCancellation = 32,
    // Never the number of a node. What a traced thread compares with, so that its checks take the
    // slow path.
    kNeverCurrent = std::uint64_t{1} << 63
  };

  // Flags in `link`, beside the address of the node above.
  enum : std::uintptr_t {
    kMayBeCut = 1,  // the link of a lasting_node
    kIsCut = 2,     // no thread may follow it any more
    kIsShared = 4   // several calls below the same node use it
  };

  std::atomic<std::uintptr_t> link;  // 0: a root
  std::atomic<std::uint64_t> state;
  alignas(std::exception_ptr) unsigned char error[sizeof(std::exception_ptr)];  // if kFailed

  // Puts the node below `above`, which is not known to be cancelled.
  void attach_to(context_node& above) {
    // relaxed, all: matter only to threads that get the node from this one later
    link.store(link_to(above), std::memory_order_relaxed);
    const std::uint64_t known = above.state.load(std::memory_order_relaxed);
    // If `above` has been cancelled by an exception meanwhile, only `above` holds the exception.
    state.store(known & ~std::uint64_t{kFailed | kOwnFloatingPoint | kLocked},
                std::memory_order_relaxed);
  }

  // Convert between a link and the node that it leads to.
  static std::uintptr_t link_to(context_node& above) {
    return reinterpret_cast<std::uintptr_t>(&above);
  }
  static context_node* at(std::uintptr_t link) {
    return reinterpret_cast<context_node*>(link & ~std::uintptr_t{kMayBeCut | kIsCut | kIsShared});
  }

  // Returns whether the node is known not to be cancelled.
  bool is_current(const std::atomic<std::uint64_t>& cancellations) const {
    // relaxed, both: a task that just misses a cancellation runs, as if it had begun earlier
    return state.load(std::memory_order_relaxed) == cancellations.load(std::memory_order_relaxed);
  }

  // Returns whether `error` holds an exception.
  bool has_failed() const {
    // (15) acquire: sees `error`, which capture_exception stored before it set kFailed
    return (state.load(std::memory_order_acquire) & kFailed) != 0;
  }
};

// The node of a task_group_context. It may outlive the call that put it below another node, so that
// call cuts the link when it ends; see context_link.hpp.
struct lasting_node : context_node {
  std::atomic<std::uint32_t> walkers{0};  // number of walks above it, or about to go there
  std::uint32_t sharers = 0;              // number of calls that share its link, minus one
};

inline std::atomic<std::uint32_t>& walkers_of(context_node& node) {
  return static_cast<lasting_node&>(node).walkers;
}

// Returns whether the node or one above it is cancelled. The slow path of
// thread_data::is_cancelled.
CORBEL_EXPORT bool find_cancelled(context_node& node) noexcept;

// Cancels the node and all nodes below it. Returns false if it was cancelled already.
CORBEL_EXPORT bool cancel(context_node& node) noexcept;

// Returns whether the terminate_on_exception control is set.
CORBEL_EXPORT bool terminates_on_exception() noexcept;

// Throws an exception of the library itself, or ends the program if the terminate_on_exception
// control is set.
template <typename Error>
[[noreturn]] inline void raise_finally(const Error& error) noexcept {
  raise(error);
}
template <typename Error>
[[noreturn]] inline void raise_own(const Error& error) {
  if (terminates_on_exception()) raise_finally(error);
  raise(error);
}

#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
// What the functions below do in the library. Those that return an exception return nullptr if
// there is none.
CORBEL_EXPORT void keep_exception(context_node& node, std::exception_ptr error) noexcept;
CORBEL_EXPORT std::exception_ptr take_exception(context_node& node) noexcept;
CORBEL_EXPORT std::exception_ptr copy_exception(const context_node& node) noexcept;
inline void throw_again(std::exception_ptr error) {
#if defined(CORBEL_BUILDS_DLL)
  if (error != nullptr) throw_in_program(std::move(error));
#else
  if (error != nullptr) std::rethrow_exception(std::move(error));
#endif
}
#endif

// Called in an exception handler: cancels the node and keeps the current exception for the thread
// that waits for the group. Keeps only the first exception of a group, and none if the group was
// cancelled before.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
inline void capture_exception(context_node& node) noexcept {
  keep_exception(node, std::current_exception());
}
#else
CORBEL_EXPORT void capture_exception(context_node& node) noexcept;
#endif

// Called in an exception handler if the exception propagates to the caller instead of into a group:
// rethrows it, or ends the program if the terminate_on_exception control is set.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
[[noreturn]] inline void pass_exception() {
#if CORBEL_EXCEPTIONS
  if (!terminates_on_exception()) throw;
#endif
  std::terminate();
}
#else
[[noreturn]] CORBEL_EXPORT void pass_exception();
#endif

// Throws the exception that capture_exception kept, if there is one, and removes it from the node:
// if several threads wait for the group, one gets it.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
inline void rethrow_exception(context_node& node) { throw_again(take_exception(node)); }
#else
CORBEL_EXPORT void rethrow_exception(context_node& node);
#endif

// Throws the exception but keeps it in the node, for every thread that waits. For contexts of the
// program, which keep it until they are reset.
#if CORBEL_LIBRARY_HAS_OWN_RUNTIME
inline void rethrow_copy(const context_node& node) { throw_again(copy_exception(node)); }
#else
CORBEL_EXPORT void rethrow_copy(const context_node& node);
#endif

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CONTEXT_NODE_HPP
