// SPDX-License-Identifier: Apache-2.0
// A function that is called in an arena or a region, and what it returns. Not for programs to
// include.
#ifndef CORBEL_DETAIL_ARENA_CALL_HPP
#define CORBEL_DETAIL_ARENA_CALL_HPP

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/new_task.hpp>
#include <corbel/detail/task.hpp>

namespace corbel {
namespace detail {

// `call` calls the function; take_result() moves out what it has returned, if it was called.
template <typename F, typename Result>
class arena_call {
 public:
  explicit arena_call(F& f) : function_(f) {}
  ~arena_call() {
    if (returned_) result().~Result();
  }
  arena_call(const arena_call&) = delete;
  arena_call& operator=(const arena_call&) = delete;

  static void call(void* self) {
    arena_call& c = *static_cast<arena_call*>(self);
    ::new (static_cast<void*>(c.storage_)) Result(c.function_());
    c.returned_ = true;
  }
  Result take_result() { return std::move(result()); }

 private:
  Result& result() { return *reinterpret_cast<Result*>(storage_); }

  F& function_;
  bool returned_ = false;
  alignas(Result) unsigned char storage_[sizeof(Result)];
};

template <typename F, typename Result>
class arena_call<F, Result&> {
 public:
  explicit arena_call(F& f) : function_(f) {}
  static void call(void* self) {
    arena_call& c = *static_cast<arena_call*>(self);
    c.result_ = &c.function_();
  }
  Result& take_result() { return *result_; }

 private:
  F& function_;
  typename std::remove_reference<Result>::type* result_ = nullptr;
};

template <typename F>
class arena_call<F, void> {
 public:
  explicit arena_call(F& f) : function_(f) {}
  static void call(void* self) { static_cast<arena_call*>(self)->function_(); }
  void take_result() {}

 private:
  F& function_;
};

// Calls function(argument); waits in it run tasks of the region only, which are those that are
// started in it. What it throws passes through.
CORBEL_EXPORT void isolate_in(std::uint64_t region, void (*function)(void*), void* argument);
CORBEL_EXPORT std::uint64_t new_region() noexcept;

// The context of what belongs to no group. It is never cancelled.
extern CORBEL_EXPORT context_node no_group;

// A task on its way into a queue. If it does not get there it is dropped.
class queued_task {
 public:
  explicit queued_task(task_base& t) : task_(&t) {}
  ~queued_task() {
    if (task_ != nullptr) task_->run(task_, current_worker(), true);
  }
  queued_task(const queued_task&) = delete;
  queued_task& operator=(const queued_task&) = delete;

  // Calls enqueue(task).
  template <typename F>
  void pass_to(const F& enqueue) {
    enqueue(*task_);
    task_ = nullptr;
  }

 private:
  task_base* task_;
};

// A task that nobody waits for. What its function throws ends the program, as in a thread.
template <typename F>
struct lone_task : task_base {
  F body;

  template <typename G>
  explicit lone_task(G&& f) : task_base(&execute), body(std::forward<G>(f)) {
    context = &no_group;
  }

  template <typename G>
  static lone_task& make(worker& w, G&& f) {
    return *new_task<lone_task>(w, std::forward<G>(f));
  }

 private:
  static void call(F& f) noexcept { f(); }

  // `dropped`: it could not be enqueued. Its context is never cancelled.
  static task_base* execute(task_base* self, worker& w, bool dropped) {
    lone_task* const t = static_cast<lone_task*>(self);
    if (!dropped) call(t->body);
    delete_task(w, t);
    return nullptr;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ARENA_CALL_HPP
