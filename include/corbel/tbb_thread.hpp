// SPDX-License-Identifier: Apache-2.0
// The thread of classic TBB over that of the standard, for programs written for it; new ones use
// std::thread. C++11 upwards.
#ifndef CORBEL_TBB_THREAD_HPP
#define CORBEL_TBB_THREAD_HPP

#include <chrono>
#include <thread>
#include <type_traits>
#include <utility>

#include <corbel/tick_count.hpp>

namespace corbel {

// A std::thread that, as in classic TBB, goes on by itself when the object is destroyed while it
// runs. Throws what std::thread throws.
class tbb_thread {
 public:
  using id = std::thread::id;
  using native_handle_type = std::thread::native_handle_type;

  // Refers to no thread.
  tbb_thread() noexcept = default;
  // Runs function(args...), of copies of both, in a new thread.
  template <typename Function, typename... Args,
            typename = typename std::enable_if<
                !std::is_same<typename std::decay<Function>::type, tbb_thread>::value>::type>
  explicit tbb_thread(Function&& function, Args&&... args)
      : thread_(std::forward<Function>(function), std::forward<Args>(args)...) {}
  tbb_thread(tbb_thread&&) noexcept = default;
  tbb_thread& operator=(tbb_thread&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    thread_ = std::move(other.thread_);
    return *this;
  }
  ~tbb_thread() { let_go(); }

  void swap(tbb_thread& other) noexcept { thread_.swap(other.thread_); }
  bool joinable() const noexcept { return thread_.joinable(); }
  void join() { thread_.join(); }
  void detach() { thread_.detach(); }
  id get_id() const noexcept { return thread_.get_id(); }
  native_handle_type native_handle() { return thread_.native_handle(); }

  // The number of threads that the machine runs at a time; 1 where that is not known.
  static unsigned hardware_concurrency() noexcept {
    const unsigned known = std::thread::hardware_concurrency();
    return known != 0 ? known : 1;
  }

 private:
  void let_go() noexcept {
    if (thread_.joinable()) thread_.detach();
  }

  std::thread thread_;
};

inline void swap(tbb_thread& a, tbb_thread& b) noexcept { a.swap(b); }

// Makes `to` what `from` is, and `from` refer to no thread.
inline void move(tbb_thread& to, tbb_thread& from) noexcept { to = std::move(from); }

// Of the calling thread.
namespace this_tbb_thread {
inline tbb_thread::id get_id() noexcept { return std::this_thread::get_id(); }
inline void yield() noexcept { std::this_thread::yield(); }
// For that long at least.
inline void sleep(const tick_count::interval_t& length) {
  std::this_thread::sleep_for(std::chrono::duration<double>(length.seconds()));
}
}  // namespace this_tbb_thread

}  // namespace corbel

#endif  // CORBEL_TBB_THREAD_HPP
