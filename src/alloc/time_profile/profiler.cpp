// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/profiler.hpp"

#include <algorithm>
#include <atomic>

#include "alloc/heap/watch.hpp"
#include "alloc/profile/open_table.hpp"
#include "alloc/time_profile/count_table.hpp"
#include "alloc/time_profile/profiled_threads.hpp"
#include "alloc/time_profile/samples.hpp"
#include "alloc/time_profile/shared_lines.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constexpr std::uint64_t kInterval = 10000000;  // nanoseconds
constexpr unsigned kMaxLooks = 50;             // looks take at most 1/50 of a processor
constexpr unsigned kMaxLists = 20;             // lists of the threads, 1/20

enum class ProfilerState : std::uint32_t { kNone, kRuns, kEnds, kEnded };

constinit std::atomic<std::uint32_t> profiler_state{std::uint32_t(ProfilerState::kNone)};
constinit std::atomic<std::uint32_t> profiler_thread{0};  // relaxed: compared with one's own

// The rest is the profiler's thread's, and of others after it has ended.
constinit ProfilerFacts found_facts{};
constinit std::uint64_t process_time_at_start = 0;
constinit std::uint64_t asked_period = 0;
constinit std::uint32_t live_tasks = 0;  // the first of a list; 0: none
constinit std::uint32_t scan_number = 0;

struct LiveTask {
  std::uint32_t id;
  std::uint32_t number;

  bool is_free() const { return number == 0; }
  std::uint64_t hash() const { return id; }
};
constinit OpenTable<LiveTask> live_by_id;

std::uint32_t find_live(std::uint32_t id) {
  const LiveTask key{id, 0};
  const LiveTask* const found =
      live_by_id.find(key.hash(), [id](const LiveTask& live) { return live.id == id; });
  return found != nullptr ? found->number : 0;
}

void read_name(ProfiledTask& task) {
  char name[sizeof task.name];
  os::read_name_of(task.id, name, sizeof name);
  // Nothing is there if the thread has ended.
  if (name[0] != '\0') std::copy(name, name + sizeof name, task.name);
}

void add_live(std::uint32_t id) {
  if (!live_by_id.reserve()) return;
  const std::uint32_t number = make_task();
  if (number == 0) return;
  ProfiledTask& task = *task_at(number);
  task.id = id;
  task.next = live_tasks;
  live_tasks = number;
  live_by_id.add({id, number});
  read_name(task);
  task.has_faults_seen = os::find_faults(id, &task.faults_seen);
  task.time_seen = os::thread_time_ns(id);
  task.has_timer = task.timer.start(id, number);
  // relaxed: until the handler sees it, it counts faults by itself
  task.has_fault_signals.store(task.timer.has_faults(), std::memory_order_relaxed);
  ++found_facts.threads;
  if (task.timer.has_counter()) found_facts.has_counters = true;
  // There is none for a thread that has just ended.
  if (!task.has_timer && os::has_thread(id)) ++found_facts.without_timer;
}

// Programs name their threads soon after they begin, and some of them later.
void read_name_again(ProfiledTask& task) {
  const unsigned scans = ++task.scans;
  if (scans <= 3 || scans % 128 == 0) read_name(task);
}

// relaxed throughout: see ProfiledTask
void look_at_wait(ProfiledTask& task, std::uint32_t number, std::uint64_t elapsed) {
  os::ThreadWait now;
  const os::WaitLook look = os::find_wait(task.id, &now);
  if (look != os::WaitLook::kWaits) {
    if (look == os::WaitLook::kRefused) found_facts.waits_are_refused = true;
    task.wait = {};
    return;
  }
  const StackId stack = task.wait_stack.load(std::memory_order_relaxed);
  if (now.runs != 0 && now == task.wait && stack != 0) {
    if (CountRow* const row = find_count({stack, number, 0, 0})) {
      row->wait_ns.fetch_add(elapsed, std::memory_order_relaxed);
    }
    return;
  }
  // For the handler the thread runs once more.
  task.wait = {now.address, now.stack, now.runs + 1};
  task.wait_stack.store(0, std::memory_order_relaxed);
  task.wait_due.fetch_add(elapsed, std::memory_order_relaxed);
  os::interrupt_wait(task.id, number);
}

// Between 3/4 and 5/4 of the period that was asked for.
std::uint64_t other_period() {
  static constinit std::uint64_t random = 0;
  if (random == 0) random = os::random_word() | 1;
  random ^= random << 13;  // Marsaglia, "Xorshift RNGs", 2003
  random ^= random >> 7;
  random ^= random << 17;
  return asked_period / 4 * 3 + random % (asked_period / 2);
}

// Of a thread that has taken some samples since the last time: it costs an interrupt.
void change_period(ProfiledTask& task) {
  constexpr std::uint32_t kMinSamples = 4;
  const std::uint32_t samples = task.samples.load(std::memory_order_relaxed);  // relaxed: a hint
  if (samples - task.samples_seen < kMinSamples) return;
  task.samples_seen = samples;
  task.timer.change_period(other_period());
}

void note_thread(void*, std::uint32_t id) {
  if (id == profiler_thread.load(std::memory_order_relaxed) || os::is_own_thread(id)) return;
  if (find_live(id) == 0) add_live(id);
  if (const std::uint32_t number = find_live(id)) task_at(number)->scan = scan_number;
}

void forget_ended_threads() {
  std::uint32_t* link = &live_tasks;
  while (*link != 0) {
    const std::uint32_t number = *link;
    ProfiledTask& task = *task_at(number);
    if (task.scan == scan_number) {
      link = &task.next;
      continue;
    }
    *link = task.next;
    task.timer.stop();
    const std::uint32_t id = task.id;
    live_by_id.remove(live_by_id.find(id, [id](const LiveTask& live) { return live.id == id; }));
    // relaxed: the thread has ended
    if (task.samples.load(std::memory_order_relaxed) == 0) forget_task(number);
  }
}

// Finds threads that are new or have ended. False when no thread of the program is left.
bool list_threads() {
  ++scan_number;
  if (os::for_each_thread(note_thread, nullptr) == 0) {
    found_facts.threads_are_hidden = true;
    return true;
  }
  forget_ended_threads();
  if (live_tasks == 0) return false;
  // A main thread that has ended is listed until the process ends.
  const ProfiledTask& task = *task_at(live_tasks);
  return task.next != 0 || !os::is_main_thread(task.id) || !os::has_ended(task.id);
}

// `elapsed`: since the last look.
void look_at_threads(std::uint64_t elapsed) {
  for (std::uint32_t number = live_tasks; number != 0; number = task_at(number)->next) {
    ProfiledTask& task = *task_at(number);
    look_at_wait(task, number, elapsed);
    change_period(task);
    read_name_again(task);
  }
}

// The time that 64 pages take which are touched for the first time.
void measure_fault_cost() {
  constexpr unsigned kPages = 64;
  const std::size_t size = kPages * os::page_size();
  constexpr std::size_t kMapUnit = std::size_t(64) << 10;
  for (unsigned round = 0; round < 3; ++round) {
    void* const memory = os::map(size, kMapUnit, nullptr);
    if (memory == nullptr) return;
    const std::uint64_t faults = os::own_faults();
    const std::uint64_t begin = os::own_time_ns();
    for (unsigned i = 0; i < kPages; ++i) {
      static_cast<volatile char*>(memory)[i * os::page_size()] = 1;
    }
    const std::uint64_t end = os::own_time_ns();
    const std::uint64_t count = os::own_faults() - faults;
    os::unmap(memory, size);
    if (count == 0) continue;
    const std::uint64_t cost = (end - begin) / count;
    if (found_facts.fault_cost_ns == 0 || cost < found_facts.fault_cost_ns)
      found_facts.fault_cost_ns = cost;
  }
}

void end_all_timers() {
  for (std::uint32_t number = live_tasks; number != 0; number = task_at(number)->next) {
    ProfiledTask& task = *task_at(number);
    if (os::blocks_signal(task.id, os::signal_of_samples())) ++found_facts.blocked;
    read_name(task);
    task.timer.stop();
  }
  live_tasks = 0;
}

// What takes time on a processor again and again, and must not take more than its share. A program
// that keeps the processors busy makes it no rarer.
class Pace {
 public:
  explicit Pace(unsigned max_share) : max_share_(max_share) {}

  bool is_due(std::uint64_t now) const { return now >= next_; }

  template <class Work>
  void run(std::uint64_t now, Work work) {
    const std::uint64_t begin = os::own_time_ns();
    work();
    next_ = now + std::max(kInterval, (os::own_time_ns() - begin) * max_share_);
  }

  void repeat_soon(std::uint64_t now) { next_ = now + kInterval; }

 private:
  std::uint64_t max_share_;
  std::uint64_t next_ = 0;
};

// relaxed: of the end, only the word itself matters
bool is_told_to_end() {
  return profiler_state.load(std::memory_order_relaxed) != std::uint32_t(ProfilerState::kRuns);
}

void watch_threads() {
  os::use_own_files();
  os::name_thread("corbel-profile");
  measure_fault_cost();
  std::uint64_t last = os::now_ns();
  Pace lists(kMaxLists);
  Pace looks(kMaxLooks);
  for (bool goes_on = true;;) {
    reserve_stacks();
    reserve_counts();
    os::follow_user();
    const std::uint64_t now = os::now_ns();
    if (lists.is_due(now)) {
      const std::uint64_t threads = found_facts.threads;
      lists.run(now, [&] { goes_on = list_threads(); });
      // A new thread costs much more than its place in a list, but once, and others may follow.
      if (found_facts.threads != threads) lists.repeat_soon(now);
    }
    if (looks.is_due(now)) {
      looks.run(now, [&] { look_at_threads(now - last); });
      last = now;
    }
    if (!found_facts.signal_was_taken && os::samples_are_lost()) {
      found_facts.signal_was_taken = true;
      break;
    }
    if (!goes_on || is_told_to_end()) break;
    os::wait_for(profiler_state, std::uint32_t(ProfilerState::kRuns),
                 std::uint32_t(kInterval / 1000000));
    if (is_told_to_end()) break;
  }
  end_all_timers();
  found_facts.own_time_ns = os::own_time_ns();
  found_facts.process_time_ns = os::process_time_ns() - process_time_at_start;
}

int run_profiler(void*) {
  // relaxed: the thread itself reads it
  profiler_thread.store(os::thread_id(), std::memory_order_relaxed);
  watch_threads();
  // (1) release: publishes all that the thread has stored to (2)
  profiler_state.store(std::uint32_t(ProfilerState::kEnded), std::memory_order_release);
  os::wake_all(profiler_state);
  return 0;
}

}  // namespace

bool start_profiler(std::uint64_t period_ns) {
  asked_period = period_ns;
  process_time_at_start = os::process_time_ns();
  reserve_stacks();
  reserve_counts();
  reserve_lines();
  profiler_state.store(std::uint32_t(ProfilerState::kRuns),
                       std::memory_order_relaxed);  // relaxed: before the thread
  constexpr std::size_t kStackSize = 256 << 10;
  const ProgramCode code;
  if (os::start_unlisted(kStackSize, run_profiler)) {
    return true;
  }
  profiler_state.store(std::uint32_t(ProfilerState::kNone),
                       std::memory_order_relaxed);  // relaxed: no thread
  return false;
}

void stop_profiler() {
  end_samples();
  if (profiler_thread.load(std::memory_order_relaxed) == os::thread_id()) return;
  auto expected = std::uint32_t(ProfilerState::kRuns);
  // (2) acquire: on failure, sees what the thread has stored
  if (profiler_state.compare_exchange_strong(expected, std::uint32_t(ProfilerState::kEnds),
                                             std::memory_order_acquire)) {
    os::wake_all(profiler_state);
  }
  constexpr std::uint64_t kPatience = 1000;
  const std::uint64_t begin = os::now_ms();
  // (2) acquire
  while (profiler_state.load(std::memory_order_acquire) == std::uint32_t(ProfilerState::kEnds) &&
         os::now_ms() - begin < kPatience) {
    os::wait_for(profiler_state, std::uint32_t(ProfilerState::kEnds), 100);
  }
}

void end_profiler_with_main() {
  // (2) acquire
  if (profiler_state.load(std::memory_order_acquire) == std::uint32_t(ProfilerState::kNone)) return;
  stop_profiler();
  const std::uint32_t thread = profiler_thread.load(std::memory_order_relaxed);
  found_facts.main_has_ended = true;
  if constexpr (!os::kExitHooksMayWait) return;
  constexpr std::uint64_t kPatience = 1000;
  const std::uint64_t begin = os::now_ms();
  while (thread != 0 && os::has_thread(thread) && os::now_ms() - begin < kPatience) os::yield();
}

ProfilerFacts profiler_facts() { return found_facts; }

}  // namespace corbel::alloc
