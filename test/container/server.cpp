// SPDX-License-Identifier: Apache-2.0
// A server as containers run them, for the test of memory limits. Usage:
//
//   container_server LIVE_MIB SECONDS [THREADS [SEED]]
//
// Threads serve requests from a cache that is kept at LIVE_MIB, counted in requested bytes; each
// thread has sessions of its own. The phases of the day gradually change the values: small ones,
// documents, a quiet time in which most of the cache expires, pictures, a mixture. In each phase
// some threads sleep, and two are replaced by new ones. Every block is filled and checked.
//
// Four times a second the server prints "at <s> requests <n> live <MiB> resident <MiB> most <MiB>";
// the last is the maximum of the live bytes so far. At the end, when it has freed and checked all
// blocks, it prints "done requests <n>".
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../stress/random.hpp"
#include "cache.hpp"

namespace corbel::container {
namespace {

using stress::Random;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr auto kPhase = std::chrono::milliseconds(2500);
constexpr std::size_t kSessions = 100;  // per thread
constexpr std::size_t kRecent = 4096;   // keys that a thread requests again

struct Phase {
  std::size_t smallest, largest;  // of a value; each doubling is equally likely
  unsigned full_percent;          // of the cache
  unsigned one_sleeps_in;         // one thread in this many is idle
  bool quiet;
};

constexpr Phase kPhases[] = {
    {128, 2 * kKiB, 100, 4, false},          // small values
    {kKiB, 8 * kKiB, 100, 2, false},         // documents
    {128, 2 * kKiB, 35, 2, true},            // a quiet time: most entries expire, few arrive
    {16 * kKiB, 256 * kKiB, 100, 2, false},  // pictures
    {32, kMiB, 100, 4, false},               // anything
    {128, 4 * kKiB, 100, 2, false},
    {kKiB, 64 * kKiB, 60, 2, false},
};

// The state of one user: some small blocks and a buffer that grows.
struct Session {
  Bytes state{200}, user{24}, address{40}, last{100}, buffer{512};
  unsigned requests_left;
};

// What all threads share.
struct Day {
  std::size_t target = 0;
  std::atomic<unsigned> phase{0};
  std::atomic<unsigned> percent_of_phase{0};
  std::atomic<std::uint64_t> requests{0};
  std::mutex lock;
  std::condition_variable changed;
  Cache cache;
  std::uint64_t seed = 1;

  const Phase& now(unsigned later = 0) const {
    // relaxed: it does not matter when a thread notices
    return kPhases[(phase.load(std::memory_order_relaxed) + later) % std::size(kPhases)];
  }
};

class Worker {
 public:
  Worker(Day& day, unsigned number)
      : day_(day), number_(number), random_(stress::mix(day.seed + number)) {}

  // Another thread starts it again after it was told to stop.
  void work() {
    stop_.store(false, std::memory_order_relaxed);  // relaxed: the thread has not started yet
    thread_ = std::thread([this] {
      while (!stopped()) {
        if (sleeps()) {
          sleep_until_next_phase();
        } else {
          for (int i = 0; i < 16; ++i) serve();
          day_.requests.fetch_add(16, std::memory_order_relaxed);  // relaxed: a figure
          if (day_.now().quiet) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      }
    });
  }

  void stop() {
    {
      const std::lock_guard guard(day_.lock);
      // relaxed: under the lock of the sleeping thread
      stop_.store(true, std::memory_order_relaxed);
    }
    day_.changed.notify_all();
    thread_.join();
  }

 private:
  // relaxed: one request more or less does not matter
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  // relaxed: as in Day::now
  unsigned phase() const { return day_.phase.load(std::memory_order_relaxed); }

  bool sleeps() const {
    // Worker 0 never sleeps: at least one thread has to serve.
    const std::uint64_t drawn = stress::mix(day_.seed + phase() * 131 + number_);
    return number_ != 0 && drawn % day_.now().one_sleeps_in == 0;
  }

  void sleep_until_next_phase() {
    const unsigned phase_now = phase();
    std::unique_lock guard(day_.lock);
    day_.changed.wait(guard, [&] { return stopped() || phase() != phase_now; });
  }

  // Drops old entries until `size` more bytes fit below the target.
  void make_room(std::size_t size) {
    const std::size_t most = day_.target / 100 * day_.now().full_percent;
    // A quiet time sets in slowly: a request drops only a few entries.
    for (int tries = 0; tries < 400 && Account::live() + size > most; ++tries) {
      if (!day_.cache.drop_one(random_.next()) && random_.one_in(64)) return;
    }
  }

  void serve() {
    // The memory that parsing a request takes.
    std::vector<Bytes, Counted<Bytes>> parts;
    for (std::size_t n = 2 + random_.below(6); n > 0; --n) {
      parts.emplace_back(8 + random_.below(random_.one_in(8) ? 1000 : 60));
    }
    const std::size_t kind = random_.below(100);
    if (kind < 45) {
      day_.cache.get(recent_[random_.below(kRecent)]);
    } else if (kind < 85) {
      put();
    } else {
      talk();
    }
    if (random_.one_in(5000)) report();
  }

  void put() {
    // The values of the next phase arrive gradually.
    // relaxed: as in Day::now
    const unsigned percent = day_.percent_of_phase.load(std::memory_order_relaxed);
    const Phase& phase_now = day_.now(random_.below(100) < percent ? 1 : 0);
    const std::size_t size = random_.log_between(phase_now.smallest, phase_now.largest);
    make_room(size + 200);
    std::uint64_t& recent = recent_[random_.below(kRecent)];
    if (recent == 0 || !random_.one_in(4)) recent = random_.next();
    day_.cache.put(recent, size);
  }

  void talk() {
    if (sessions_.size() < kSessions) {
      sessions_.emplace_back();
      sessions_.back().requests_left = unsigned(1 + random_.below(60));
      return;
    }
    Session& session = sessions_[random_.below(kSessions)];
    if (--session.requests_left == 0) {
      session = Session{};
      session.requests_left = unsigned(1 + random_.below(60));
    } else if (session.buffer.size() < 16 * kKiB) {
      make_room(2 * kKiB);
      session.buffer.resize(session.buffer.size() + 1 + random_.below(kKiB));
      session.last = Bytes(20 + random_.below(200));
    }
  }

  // A large answer, built piece by piece.
  void report() {
    const std::size_t size = random_.log_between(256 * kKiB, 2 * kMiB);
    make_room(2 * size);
    Bytes text(1000);
    while (text.size() < size) text.resize(text.size() * 3 / 2);
  }

  Day& day_;
  const unsigned number_;
  Random random_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::vector<Session, Counted<Session>> sessions_;
  std::uint64_t recent_[kRecent] = {};
};

double resident_mib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long total = 0, resident = 0;
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return double(resident) * double(sysconf(_SC_PAGESIZE)) / double(kMiB);
}

void report_progress(const Day& day, Clock::time_point start) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("at %.1f requests %llu live %.1f resident %.1f most %.1f\n", seconds,
              // relaxed: a figure
              static_cast<unsigned long long>(day.requests.load(std::memory_order_relaxed)),
              double(Account::live()) / double(kMiB), resident_mib(),
              double(Account::most()) / double(kMiB));
  std::fflush(stdout);
}

void run(std::size_t live_mib, double seconds, unsigned threads, std::uint64_t seed) {
  auto day = std::make_unique<Day>();
  day->target = live_mib * kMiB;
  day->seed = seed;
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(*day, i));
  for (auto& worker : workers) worker->work();

  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  auto next_phase = start + kPhase;
  Random random(seed);
  // The first line comes as soon as there is a figure: a server that cannot live here may print no
  // second one.
  // relaxed: a figure
  while ((day->requests.load(std::memory_order_relaxed) == 0 || Account::most() < kMiB) &&
         Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  report_progress(*day, start);
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    if (Clock::now() >= next_phase) {
      next_phase += kPhase;
      {
        const std::lock_guard guard(day->lock);
        // relaxed: under the lock of the sleeping threads
        day->phase.fetch_add(1, std::memory_order_relaxed);
      }
      day->changed.notify_all();
      for (int i = 0; i < 2; ++i) {
        Worker& replaced = *workers[random.below(threads)];
        replaced.stop();
        replaced.work();
      }
    }
    const auto left = std::chrono::duration<double>(next_phase - Clock::now()) / kPhase;
    // relaxed: as in Day::now
    day->percent_of_phase.store(unsigned(100 - 100 * std::clamp(left, 0.0, 1.0)),
                                std::memory_order_relaxed);
    report_progress(*day, start);
  }
  for (auto& worker : workers) worker->stop();
  // relaxed: all threads are joined
  const auto requests = day->requests.load(std::memory_order_relaxed);
  workers.clear();
  day.reset();
  if (Account::live() != 0) fail("bytes are missing from the count");
  std::printf("done requests %llu\n", static_cast<unsigned long long>(requests));
}

}  // namespace
}  // namespace corbel::container

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = [&](int i, std::uint64_t fallback) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : fallback;
  };
  corbel::container::run(number(1, 0), std::strtod(argv[2], nullptr), unsigned(number(3, 8)),
                         number(4, 1));
}
