// SPDX-License-Identifier: Apache-2.0
// Locks whose critical sections run as hardware transactions where the processor has them (lock
// elision: R. Rajwar and J. Goodman, "Speculative Lock Elision", MICRO 2001). Not for programs to
// include.
#ifndef CORBEL_DETAIL_ELIDED_LOCK_HPP
#define CORBEL_DETAIL_ELIDED_LOCK_HPP

#include <corbel/detail/backoff.hpp>
#include <corbel/detail/config.hpp>

// The thread sanitizer cannot see that a transaction synchronises.
#if defined(__SANITIZE_THREAD__)
#define CORBEL_HAS_TRANSACTIONS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORBEL_HAS_TRANSACTIONS 0
#endif
#endif
#if !defined(CORBEL_HAS_TRANSACTIONS)
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define CORBEL_HAS_TRANSACTIONS 1
#include <cpuid.h>
#else
#define CORBEL_HAS_TRANSACTIONS 0
#endif
#endif

namespace corbel {
namespace detail {

// The status of a transaction: started, or the bits that say why it was aborted (Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 1, chapter 16).
enum transaction_status : unsigned {
  kTransactionStarted = ~0U,
  kAbortedByLock = 0xff000001U,  // by elided_lock: the lock was not free
  kMayRetry = 1U << 1,
  kConflict = 1U << 2
};

#if CORBEL_HAS_TRANSACTIONS

// Restricted transactional memory (RTM). The instructions are given as bytes, so that neither the
// program nor the assembler must be set up for them.
struct hardware_transaction {
  // Whether the processor has transactions that do not always abort.
  static bool is_available() noexcept {
    static const bool available = has_rtm();
    return available;
  }

  // Starts a transaction, or a nested one, and returns kTransactionStarted. If the outermost one is
  // aborted, all that the thread has done since is undone, and the call that started that one
  // returns again, with the reason.
  static unsigned begin() noexcept {
    unsigned status = kTransactionStarted;
    // xbegin, with the next instruction as the address to continue at
    __asm__ __volatile__(".byte 0xc7, 0xf8, 0, 0, 0, 0" : "+a"(status) : : "memory");
    return status;
  }

  // Commits: other threads see all that the transaction did at once.
  static void end() noexcept {
    __asm__ __volatile__(".byte 0x0f, 0x01, 0xd5" : : : "memory");  // xend
  }

  // Aborts with kAbortedByLock; does not return.
  static unsigned abort() noexcept {
    __asm__ __volatile__(".byte 0xc6, 0xf8, 0xff" : : : "memory");  // xabort 0xff
    return kAbortedByLock;
  }

 private:
  static bool has_rtm() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    constexpr unsigned kRtm = 1U << 11;           // of b
    constexpr unsigned kAlwaysAborts = 1U << 11;  // of d
    return (b & kRtm) != 0 && (d & kAlwaysAborts) == 0;
  }
};

#else

struct hardware_transaction {
  static constexpr bool is_available() noexcept { return false; }
  static unsigned begin() noexcept { return 0; }
  static void end() noexcept {}
  static unsigned abort() noexcept { return kAbortedByLock; }
};

#endif

// `Algorithm`, an exclusive lock with is_free() or a reader-writer lock, with elision. A critical
// section runs as a transaction that only reads the lock, finding it free; if it is aborted several
// times, or for a reason that will not go away, the thread acquires the lock.
//
// Mutual exclusion. A transaction has the lock in its read set from its begin to its end, so it
// commits only if no thread has written the lock in between. Either a thread acquires the lock
// before the transaction reads it: the transaction finds it taken and aborts. Or it does so
// afterwards: the write aborts the transaction. So no transaction commits while a thread holds the
// lock, and what is undone no thread has seen. Two transactions exclude each other by their data.
//
// Which way out. While a thread holds the lock, in any mode, the lock is not free. In a transaction
// the lock stays free. So a thread that leaves needs no note of how it came in, and a transaction
// may contain critical sections of locks that are held, and the other way round.
//
// A transaction is aborted by what cannot be undone (system calls, for one), so waiting, which is
// done before it begins, may be inside another one.
template <typename Algorithm, typename Transaction = hardware_transaction>
class elided_lock : public Algorithm {
 public:
  void lock() noexcept {
    if (Transaction::is_available()) {
      for (int i = 0; i < kTries; ++i) {
        // A transaction that began now would be aborted. All threads would then acquire the lock
        // one after the other.
        if (!wait_a_while()) break;
        const unsigned status = begin();
        if (status == kTransactionStarted) return;
        if (!is_worth_another(status)) break;
      }
    }
    Algorithm::lock();
  }

  bool try_lock() noexcept {
    if (Transaction::is_available() && this->is_free() && begin() == kTransactionStarted) {
      return true;
    }
    return Algorithm::try_lock();
  }

  void unlock() noexcept {
    if (is_elided()) return Transaction::end();
    Algorithm::unlock();
  }

  // ---- of a reader-writer lock

  // Does not wait for readers that hold the lock: they let another one in.
  void lock_shared() noexcept {
    if (Transaction::is_available()) {
      for (int i = 0; i < kTries && this->is_free(); ++i) {
        const unsigned status = begin();
        if (status == kTransactionStarted) return;
        if (!is_worth_another(status)) break;
      }
    }
    Algorithm::lock_shared();
  }

  bool try_lock_shared() noexcept {
    if (Transaction::is_available() && this->is_free() && begin() == kTransactionStarted) {
      return true;
    }
    return Algorithm::try_lock_shared();
  }

  void unlock_shared() noexcept {
    if (is_elided()) return Transaction::end();
    Algorithm::unlock_shared();
  }

  // A transaction is reader and writer at the same time.
  bool upgrade() noexcept { return is_elided() || Algorithm::upgrade(); }
  void downgrade() noexcept {
    if (!is_elided()) Algorithm::downgrade();
  }

 private:
  static constexpr int kTries = 3;
  static constexpr int kLooks = 16;

  // Waits until the lock is free, but not for long: threads that hold it may relieve each other,
  // and only Algorithm::lock() announces a writer to readers. Returns whether it is free.
  bool wait_a_while() const noexcept {
    backoff wait;
    for (int i = 0; i < kLooks; ++i) {
      if (this->is_free()) return true;
      wait.pause();
    }
    return false;
  }

  // Asked in a critical section: whether it is a transaction. A program that unlocks a lock which
  // it does not hold is not answered with an instruction that the processor may not have.
  bool is_elided() const noexcept {
    return CORBEL_UNLIKELY(this->is_free()) && Transaction::is_available();
  }

  // Begins a transaction in which the lock is free.
  unsigned begin() noexcept {
    const unsigned status = Transaction::begin();
    if (status != kTransactionStarted || this->is_free()) return status;
    return Transaction::abort();
  }

  static bool is_worth_another(unsigned status) noexcept {
    return (status & kAbortedByLock) == kAbortedByLock || (status & (kMayRetry | kConflict)) != 0;
  }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_ELIDED_LOCK_HPP
