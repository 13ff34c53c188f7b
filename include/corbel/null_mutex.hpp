// SPDX-License-Identifier: Apache-2.0
// Locks that do nothing, for templates that require a lock type where no lock is needed. C++11 and
// later. Follows the oneTBB specification 1.4 (null_mutex, null_rw_mutex).
#ifndef CORBEL_NULL_MUTEX_HPP
#define CORBEL_NULL_MUTEX_HPP

namespace corbel {

// All functions return at once; the try functions succeed. Any thread may call them at any time.
class null_mutex {
 public:
  class scoped_lock {
   public:
    constexpr scoped_lock() noexcept = default;
    explicit scoped_lock(null_mutex&) noexcept {}
    // User-provided: compilers would warn about an unused variable with a trivial destructor.
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

// All functions return at once; the try functions succeed. Any thread may call them at any time.
class null_rw_mutex {
 public:
  class scoped_lock {
   public:
    constexpr scoped_lock() noexcept = default;
    explicit scoped_lock(null_rw_mutex&, bool = true) noexcept {}
    // User-provided: compilers would warn about an unused variable with a trivial destructor.
    ~scoped_lock() {}
    scoped_lock(const scoped_lock&) = delete;
    scoped_lock& operator=(const scoped_lock&) = delete;

    void acquire(null_rw_mutex&, bool = true) noexcept {}
    bool try_acquire(null_rw_mutex&, bool = true) noexcept { return true; }
    void release() noexcept {}
    bool upgrade_to_writer() noexcept { return true; }
    bool downgrade_to_reader() noexcept { return true; }
    // Returns true.
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
