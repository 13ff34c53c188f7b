// SPDX-License-Identifier: Apache-2.0
// The thread of TBB 2020, based on std::thread. C++11 and later. New programs use std::thread.
// Needs libcorbel.
#ifndef CORBEL_CLASSIC_TBB_THREAD_HPP
#define CORBEL_CLASSIC_TBB_THREAD_HPP

#include <chrono>
#include <thread>
#include <type_traits>
#include <utility>

#include <corbel/info.hpp>
#include <corbel/tick_count.hpp>

namespace corbel {

// A std::thread whose destructor detaches a thread that has not been joined, as in TBB 2020.
// Functions and thread safety are those of std::thread; they throw what that throws.
class tbb_thread {
 public:
  using id = std::thread::id;
  using native_handle_type = std::thread::native_handle_type;

  // Refers to no thread.
  tbb_thread() noexcept = default;
  // Starts a thread that calls function(args...) with copies of both.
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

  // Returns how many threads this process may run at a time: not more than the processors that its
  // affinity mask and its container grant it.
  static unsigned hardware_concurrency() noexcept {
    return static_cast<unsigned>(info::default_concurrency());
  }

 private:
  void let_go() noexcept {
    if (thread_.joinable()) thread_.detach();
  }

  std::thread thread_;
};

inline void swap(tbb_thread& a, tbb_thread& b) noexcept { a.swap(b); }

// Moves the thread of `from` to `to`; `from` refers to no thread afterwards.
inline void move(tbb_thread& to, tbb_thread& from) noexcept { to = std::move(from); }

// Functions of the calling thread, like those of std::this_thread.
namespace this_tbb_thread {
inline tbb_thread::id get_id() noexcept { return std::this_thread::get_id(); }
inline void yield() noexcept { std::this_thread::yield(); }
// Sleeps at least for `length`.
inline void sleep(const tick_count::interval_t& length) {
  std::this_thread::sleep_for(std::chrono::duration<double>(length.seconds()));
}
}  // namespace this_tbb_thread

}  // namespace corbel

#endif  // CORBEL_CLASSIC_TBB_THREAD_HPP
