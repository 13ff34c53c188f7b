// SPDX-License-Identifier: Apache-2.0
// The sleeping locks of the headers (include/corbel/detail/basic_mutex.hpp, basic_rw_mutex.hpp): a
// writer is alone, readers share, each holder sees what earlier holders did, no thread sleeps
// forever, and upgrades and downgrades return the truth.
#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/basic_rw_mutex.hpp>

#include "model_test.hpp"
#include "types.hpp"

namespace corbel::model {
namespace {

using enum std::memory_order;

// The same values as in the sources.
constexpr std::uint64_t kHeld = 1;
constexpr std::uint64_t kWaitedFor = 2;
constexpr std::uint64_t kWriter = 1;
constexpr std::uint64_t kClaimed = 2;
constexpr std::uint64_t kSleepers = 4;
constexpr std::uint64_t kReader = 8;

// The critical sections of each thread, one letter each.
using Scripts = std::array<const char*, 3>;

// ---- mutex --------------------------------------------------------------------------------------
struct Sections : Test {
  explicit Sections(Scripts scripts) : scripts(scripts) {}

  detail::basic_mutex<Atomic, Kernel<0>> mutex;  // its word is location 0
  const Scripts scripts;
  Var<int> sections;
  int done = 0;

  void run(int thread) override {
    for (const char* next = scripts[std::size_t(thread)]; *next != 0; ++next) {
      if (*next == 't') {
        if (!mutex.try_lock()) continue;
      } else {
        mutex.lock();
      }
      sections.set(sections.get() + 1);
      mutex.unlock();
      ++done;
    }
  }

  void finish() override {
    check(sections.get() == done, "a section is lost");
    check(mutex.try_lock(), "the lock is still held");
  }
};

// ---- reader-writer mutex ------------------------------------------------------------------------
struct RwSections : Test {
  explicit RwSections(Scripts scripts) : scripts(scripts) {}

  detail::basic_rw_mutex<Atomic, Kernel<0>> mutex;  // its word is location 0
  const Scripts scripts;
  Var<int> value;
  int writes = 0;

  void run(int thread) override {
    for (const char* next = scripts[std::size_t(thread)]; *next != 0; ++next) section(*next);
  }

  void section(char what) {
    switch (what) {
      case 'w':  // write
        mutex.lock();
        return write_and_unlock();
      case 't':  // try to write
        if (mutex.try_lock()) write_and_unlock();
        return;
      case 'r':  // read
        mutex.lock_shared();
        value.get();
        return mutex.unlock_shared();
      case 's':  // try to read
        if (!mutex.try_lock_shared()) return;
        value.get();
        return mutex.unlock_shared();
      case 'u': {  // upgrade
        mutex.lock_shared();
        const int seen = value.get();
        if (mutex.upgrade()) check(value.get() == seen, "another thread wrote during an upgrade");
        return write_and_unlock();
      }
      case 'd': {  // downgrade
        mutex.lock();
        write();
        const int mine = value.get();
        mutex.downgrade();
        check(value.get() == mine, "another thread wrote during a downgrade");
        return mutex.unlock_shared();
      }
      default:
        check(false, "no such section");
    }
  }

  void write() {
    value.set(value.get() + 1);
    ++writes;
  }
  void write_and_unlock() {
    write();
    mutex.unlock();
  }

  void finish() override {
    check(value.get() == writes, "a write is lost");
    check(mutex.try_lock_shared(), "a writer is still inside, or announced as waiting");
    mutex.unlock_shared();
    check(mutex.try_lock(), "a reader is still inside");
  }
};

Result sections(const Mutation& mutation, Scripts scripts) {
  return explore<Sections>(scripts[2][0] != 0 ? 3 : 2, mutation, scripts);
}
Result rw_sections(const Mutation& mutation, Scripts scripts) {
  return explore<RwSections>(scripts[2][0] != 0 ? 3 : 2, mutation, scripts);
}

TEST(SleepingMutex, TwoThreads) { EXPECT_SOUND(sections(nullptr, {"lll", "ll", ""})); }
TEST(SleepingMutex, ThreeThreads) { EXPECT_SOUND(sections(nullptr, {"l", "l", "l"})); }
TEST(SleepingMutex, TryLock) { EXPECT_SOUND(sections(nullptr, {"ll", "tt", ""})); }

TEST(RwMutex, Writers) { EXPECT_SOUND(rw_sections(nullptr, {"ww", "w", ""})); }
TEST(RwMutex, ReaderAndWriter) { EXPECT_SOUND(rw_sections(nullptr, {"rr", "w", ""})); }
TEST(RwMutex, Upgrade) { EXPECT_SOUND(rw_sections(nullptr, {"u", "w", ""})); }
TEST(RwMutex, UpgradeAndReader) { EXPECT_SOUND(rw_sections(nullptr, {"u", "r", ""})); }
TEST(RwMutex, Downgrade) { EXPECT_SOUND(rw_sections(nullptr, {"d", "w", ""})); }
TEST(RwMutex, DowngradeAmongReaders) { EXPECT_SOUND(rw_sections(nullptr, {"d", "r", ""})); }
TEST(RwMutex, Tries) { EXPECT_SOUND(rw_sections(nullptr, {"ts", "w", ""})); }

// Weak compare-and-swap never fails spuriously here; otherwise there are too many executions.
void strongly(Step& step) { step.weak = false; }

TEST(RwMutex, TwoUpgrades) { EXPECT_SOUND(rw_sections(strongly, {"u", "u", ""})); }
TEST(RwMutex, UpgradeAmongReaders) { EXPECT_SOUND(rw_sections(strongly, {"u", "rr", ""})); }
TEST(RwMutex, ThreeThreads) { EXPECT_SOUND(rw_sections(strongly, {"w", "t", "s"})); }

// ---- mutants: each must fail -----------------------------------------------------------------

Mutation weaken(Op op, std::memory_order from, std::memory_order to) {
  return [=](Step& step) {
    if (step.op == op && step.order == from) step.order = to;
  };
}

TEST(SleepingMutexMutant, UnlockDoesNotRelease) {
  EXPECT_BROKEN(sections(weaken(Op::kExchange, release, relaxed), {"l", "l", ""}), "data race");
}
TEST(SleepingMutexMutant, FastPathDoesNotAcquire) {
  EXPECT_BROKEN(sections(weaken(Op::kCompareExchange, acquire, relaxed), {"l", "l", ""}),
                "data race");
}
TEST(SleepingMutexMutant, SlowPathDoesNotAcquire) {
  EXPECT_BROKEN(sections(weaken(Op::kExchange, acquire, relaxed), {"l", "l", ""}), "data race");
}
TEST(SleepingMutexMutant, WaiterDoesNotAnnounceItself) {
  const Mutation quiet = [](Step& step) {
    if (step.op == Op::kExchange && step.operand == kWaitedFor) step.operand = kHeld;
    if (step.op == Op::kWait) step.expected = kHeld;
  };
  EXPECT_BROKEN(sections(quiet, {"l", "l", ""}), "deadlock");
}

TEST(RwMutexMutant, WriterDoesNotRelease) {
  EXPECT_BROKEN(rw_sections(weaken(Op::kFetch, release, relaxed), {"w", "r", ""}), "data race");
}
TEST(RwMutexMutant, ReaderDoesNotRelease) {
  EXPECT_BROKEN(rw_sections(weaken(Op::kCompareExchange, release, relaxed), {"w", "r", ""}),
                "data race: write concurrent with a read");
}
TEST(RwMutexMutant, EntryDoesNotAcquire) {
  EXPECT_BROKEN(rw_sections(weaken(Op::kCompareExchange, acquire, relaxed), {"w", "r", ""}),
                "data race");
}
TEST(RwMutexMutant, UpgradeDoesNotAcquire) {
  EXPECT_BROKEN(rw_sections(weaken(Op::kLoad, acquire, relaxed), {"u", "r", ""}), "data race");
}
TEST(RwMutexMutant, DowngradeDoesNotRelease) {
  EXPECT_BROKEN(rw_sections(weaken(Op::kCompareExchange, release, relaxed), {"d", "r", ""}),
                "data race");
}
// The sleeping thread does not set the sleepers' bit.
TEST(RwMutexMutant, SleeperDoesNotAnnounceItself) {
  const Mutation quiet = [](Step& step) {
    if (step.op == Op::kCompareExchange && step.operand == (step.expected | kSleepers)) {
      step.operand = step.expected;
    }
    if (step.op == Op::kWait) step.expected &= ~kSleepers;
  };
  EXPECT_BROKEN(rw_sections(quiet, {"w", "w", ""}), "deadlock");
  EXPECT_BROKEN(rw_sections(quiet, {"w", "r", ""}), "deadlock");
}
// The leaving thread clears the sleepers' bit without waking a sleeper.
TEST(RwMutexMutant, NoThreadIsWoken) {
  const Mutation silent = [](Step& step) {
    if (step.op == Op::kWake) step.op = Op::kNothing;
  };
  for (const Scripts& scripts : {Scripts{"w", "w", ""}, Scripts{"w", "r", ""},
                                 Scripts{"u", "r", ""}, Scripts{"d", "r", ""}}) {
    EXPECT_BROKEN(rw_sections(silent, scripts), "deadlock");
  }
}
// A writer enters without clearing its claim: readers wait for a writer that does not exist.
TEST(RwMutexMutant, ClaimIsNotCleared) {
  const Mutation keeps = [](Step& step) {
    if (step.op == Op::kCompareExchange && (step.expected & kClaimed) != 0 &&
        step.operand == ((step.expected & ~kClaimed) | kWriter)) {
      step.operand |= kClaimed;
    }
  };
  EXPECT_BROKEN(rw_sections(keeps, {"w", "w", ""}), "announced as waiting");
  EXPECT_BROKEN(rw_sections(keeps, {"w", "wr", ""}), "deadlock");
}
// The upgrading thread takes itself for the only reader while another is inside.
TEST(RwMutexMutant, UpgradeDoesNotWait) {
  const Mutation hasty = [](Step& step) {
    if (step.op == Op::kCompareExchange && step.order == relaxed &&
        step.operand == (step.expected | kWriter)) {
      step.operand = (step.expected & 7) | kWriter | kReader;
    }
  };
  EXPECT_BROKEN(rw_sections(hasty, {"u", "r", ""}), "data race");
}

}  // namespace
}  // namespace corbel::model
