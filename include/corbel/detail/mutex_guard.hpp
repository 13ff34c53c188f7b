// SPDX-License-Identifier: Apache-2.0
// std::lock_guard without <mutex>. Not for programs to include.
#ifndef CORBEL_DETAIL_MUTEX_GUARD_HPP
#define CORBEL_DETAIL_MUTEX_GUARD_HPP

namespace corbel {
namespace detail {

template <typename Mutex>
class mutex_guard {
 public:
  explicit mutex_guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~mutex_guard() { mutex_.unlock(); }
  mutex_guard(const mutex_guard&) = delete;
  mutex_guard& operator=(const mutex_guard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_MUTEX_GUARD_HPP
