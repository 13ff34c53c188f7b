// SPDX-License-Identifier: Apache-2.0
// A task group whose waits run tasks of the group only. C++11 and later. Follows the preview
// feature of oneTBB.
#ifndef CORBEL_ISOLATED_TASK_GROUP_HPP
#define CORBEL_ISOLATED_TASK_GROUP_HPP

#include <cstdint>
#include <new>
#include <utility>

#include <corbel/detail/arena_call.hpp>
#include <corbel/task_group.hpp>

namespace corbel {

// A task_group in an isolation scope of its own: a thread that waits for it runs no other tasks, as
// in this_task_arena::isolate. Its functions do what those of task_group do; all except defer,
// cancel and is_canceling may additionally throw bad_alloc.
class isolated_task_group : private task_group {
 public:
  isolated_task_group() = default;
  explicit isolated_task_group(task_group_context& context) : task_group(context) {}

  // Does what ~task_group does, in the isolation scope; if there is no memory for the scope, the
  // wait may run any tasks.
  ~isolated_task_group() noexcept(false) {
    if (CORBEL_LIKELY(outstanding_.is_done())) return;
#if CORBEL_EXCEPTIONS
    try {
      inside([&] { cancel_and_wait(); });
    } catch (const std::bad_alloc&) {
      cancel_and_wait();
    }
#else
    inside([&] { cancel_and_wait(); });
#endif
    if (!detail::is_unwinding()) detail::raise_own(missing_wait());
  }

  template <typename F>
  void run(F&& f) {
    inside([&] { task_group::run(std::forward<F>(f)); });
  }
  void run(task_handle&& h) {
    inside([&] { task_group::run(std::move(h)); });
  }
  using task_group::defer;

  template <typename F>
  task_group_status run_and_wait(const F& f) {
    return inside([&] { return task_group::run_and_wait(f); });
  }
  task_group_status run_and_wait(task_handle&& h) {
    return inside([&] { return task_group::run_and_wait(std::move(h)); });
  }
  task_group_status wait() {
    return inside([&] { return task_group::wait(); });
  }

  using task_group::cancel;
  using task_group::is_canceling;

 private:
  template <typename F>
  auto inside(F&& f) -> detail::const_call_result<F> {
    using call =
        detail::arena_call<typename std::remove_reference<F>::type, detail::const_call_result<F>>;
    call c(f);
    detail::isolate_in(scope_, &call::call, &c);
    return c.take_result();
  }

  const std::uint64_t scope_ = detail::new_isolation_scope();
};

}  // namespace corbel

#endif  // CORBEL_ISOLATED_TASK_GROUP_HPP
