// SPDX-License-Identifier: Apache-2.0
// Locks that do nothing, for templates that take the type of a lock where none is needed. C++11
// upwards; null_mutex and null_rw_mutex of the oneTBB specification.
#ifndef CORBEL_NULL_MUTEX_HPP
#define CORBEL_NULL_MUTEX_HPP

namespace corbel {

// All functions return at once, and those that try say that they were successful.
class null_mutex {
 public:
  class scoped_lock {
   public:
    constexpr scoped_lock() noexcept = default;
    explicit scoped_lock(null_mutex&) noexcept {}
    // Not defaulted: a lock that is not used otherwise shall cause no warning.
    ~scoped_lock() {}
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

    void acquire(null_mutex&) noexcept {}
    bool try_acquire(null_mutex&) noexcept { return true; }
    void release() noexcept {}
  };

  static constexpr bool is_rw_mutex = false;
  static constexpr bool is_recursive_mutex = true;
  static constexpr bool is_fair_mutex = true;

  constexpr null_mutex() noexcept {}
  null_mutex(const null_mutex&) = delete;
  null_mutex& operator=(const null_mutex&) = delete;

  void lock() noexcept {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
};

// All functions return at once, and those that try say that they were successful.
class null_rw_mutex {
 public:
  class scoped_lock {
   public:
    constexpr scoped_lock() noexcept = default;
    explicit scoped_lock(null_rw_mutex&, bool = true) noexcept {}
    // As in null_mutex.
    ~scoped_lock() {}
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

    void acquire(null_rw_mutex&, bool = true) noexcept {}
    bool try_acquire(null_rw_mutex&, bool = true) noexcept { return true; }
    void release() noexcept {}
    bool upgrade_to_writer() noexcept { return true; }
    bool downgrade_to_reader() noexcept { return true; }
    // Always: there is nobody else inside.
    bool is_writer() const noexcept { return true; }
  };

  static constexpr bool is_rw_mutex = true;
  static constexpr bool is_recursive_mutex = true;
  static constexpr bool is_fair_mutex = true;

  constexpr null_rw_mutex() noexcept {}
  null_rw_mutex(const null_rw_mutex&) = delete;
  null_rw_mutex& operator=(const null_rw_mutex&) = delete;

  void lock() noexcept {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
  void lock_shared() noexcept {}
  bool try_lock_shared() noexcept { return true; }
  void unlock_shared() noexcept {}
};

}  // namespace corbel

#endif  // CORBEL_NULL_MUTEX_HPP
