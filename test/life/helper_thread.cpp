// SPDX-License-Identifier: Apache-2.0
// When there is a helper thread and when not, and that the program cannot notice it.
#include <sys/resource.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "helper.hpp"

namespace {

constexpr std::size_t kBlocks = 400000;
constexpr std::size_t kSize = 100;

// Uses about 40 MiB and frees them.
void spike() {
  std::vector<unsigned char*> blocks(kBlocks);
  for (auto& block : blocks) block = life::make_block(kSize);
  for (auto& block : blocks) life::free_block(block, kSize);
}

void spike_in_threads() {
  std::thread first(spike);
  std::thread second(spike);
  first.join();
  second.join();
  life::use_malloc(1);
}

bool has_helper_within(int ms) {
  for (; ms > 0; ms -= 10) {
    if (life::helper_thread() != 0) return true;
    life::pause_ms(10);
  }
  return false;
}

void none() {
  spike_in_threads();
  CHECK(!has_helper_within(300));
}

void none_alone() {
  spike();
  life::use_malloc(1);
  CHECK(!has_helper_within(300));
}

void none_for_little() {
  std::thread first([] { life::use_malloc(3); });
  std::thread second([] { life::use_malloc(3); });
  first.join();
  second.join();
  CHECK(!has_helper_within(300));
}

void alone() {
  spike();
  life::use_malloc(1);
  CHECK(has_helper_within(20000));
  for (int i = 0; i < 200 && life::resident_kib() > (24U << 10); ++i) life::pause_ms(100);
  CHECK(life::resident_kib() <= (24U << 10));
}

int open_files() {
  int count = 0;
  for (int i = 0; i < 256; ++i) count += fcntl(i, F_GETFD) != -1 ? 1 : 0;
  return count;
}

volatile sig_atomic_t handled_by = 0;

// Without the two signals that the C library reserves from the first thread on.
std::uint64_t signals(const char* key) {
  return life::number_after(life::read_file("/proc/self/status"), key, 16) & ~(3ULL << 31);
}

void unnoticed() {
  struct sigaction action = {};
  action.sa_handler = [](int) { handled_by = int(syscall(SYS_gettid)); };
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  const std::uint64_t caught = signals("SigCgt:");
  const std::uint64_t ignored = signals("SigIgn:");
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0);
  const int files = open_files();
  spike_in_threads();
  CHECK(has_helper_within(20000));
  life::pause_ms(100);
  const int helper = life::helper_thread();
  const char* status = life::thread_status(helper);
  const std::uint64_t blocked = life::number_after(status, "SigBlk:", 16);
  // All signals but the two that cannot be blocked, the two of the C library, and those that a
  // thread raises itself.
  std::uint64_t open = 3ULL << 31;
  for (const int signal : {SIGKILL, SIGSTOP, SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    open |= 1ULL << (signal - 1);
  }
  CHECK((blocked & (1ULL << (SIGSYS - 1) | 1ULL << (SIGSEGV - 1))) == 0);
  CHECK((blocked | open) == ~0ULL);
  CHECK(signals("SigCgt:") == caught);
  CHECK(signals("SigIgn:") == ignored);
  sigset_t mask_now;
  CHECK(pthread_sigmask(SIG_SETMASK, nullptr, &mask_now) == 0);
  for (int signal = 1; signal < 65; ++signal) {
    CHECK(sigismember(&mask, signal) == sigismember(&mask_now, signal));
  }
  CHECK(open_files() == files);
  // The C library sends every thread a signal and waits for all of them.
  CHECK(setegid(getegid()) == 0);
  // A signal to the process is delivered to a thread of the program.
  for (int i = 0; i < 100; ++i) {
    handled_by = 0;
    kill(getpid(), SIGUSR1);
    while (handled_by == 0) life::pause_ms(1);
    CHECK(handled_by != helper);
  }
  // The helper has no files of its own among the program's. They would take numbers that the
  // program expects for its next files, and the program might close them.
  char path[64];
  for (int file = 0; file < 3; ++file) {
    std::snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", helper, file);
    CHECK(access(path, F_OK) != 0);
  }
}

// One call frees all this memory, so that call has to start or wake the helper.
void wait_until_resident(std::size_t most_mib) {
  for (int i = 0; i < 200 && life::resident_kib() > most_mib << 10; ++i) life::pause_ms(100);
  CHECK(life::resident_kib() <= most_mib << 10);
}

void one_call() {
  std::atomic<bool> there{false};
  std::atomic<bool> done{false};
  std::thread second([&] {
    life::use_malloc(1);
    there.store(true);
    while (!done.load()) life::pause_ms(50);
  });
  while (!there.load()) life::pause_ms(1);
  constexpr std::size_t kLarge = std::size_t(50) << 20;
  life::free_block(life::make_block(kLarge), kLarge);
  wait_until_resident(24);
  // When the helper is asleep, one realloc must suffice.
  unsigned char* block = life::make_block(2 * kLarge);
  const int helper = life::helper_thread();
  CHECK(helper != 0);
  std::uint64_t runs = 0;
  do {
    runs = life::runs_of(helper);
    life::pause_ms(2500);
  } while (life::runs_of(helper) != runs);
  void* const shrunk = std::realloc(block, 200 << 10);
  CHECK(shrunk != nullptr);
  wait_until_resident(24);
  std::free(shrunk);
  done.store(true);
  second.join();
}

// No thread runs in an idle process, even if it has a heap that cannot be taken over: its thread
// waits in a call in which programs normally do not wait.
void rests() {
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0);
  CHECK(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096) == 4096);
  std::thread writer([&] {
    static char page[4096];
    life::use_malloc(1);
    for (int i = 0; i < 2; ++i) CHECK(write(pipe_ends[1], page, sizeof page) == sizeof page);
  });
  spike_in_threads();
  CHECK(has_helper_within(20000));
  const int helper = life::helper_thread();
  std::uint64_t before = 0;
  std::uint64_t runs = life::runs_of(helper);
  for (int tries = 0; tries < 100 && runs != before; ++tries) {
    before = runs;
    life::pause_ms(500);
    runs = life::runs_of(helper);
  }
  CHECK(runs == before);
  // The helper works again when there is something to do.
  spike_in_threads();
  for (int i = 0; i < 2000 && life::runs_of(helper) == runs; ++i) life::pause_ms(10);
  CHECK(life::runs_of(helper) != runs);
  static char page[4096];
  CHECK(read(pipe_ends[0], page, sizeof page) == sizeof page);
  writer.join();
}

// A forked child of a process with a helper thread has none, works, and gets its own on demand.
void forked() {
  spike_in_threads();
  CHECK(has_helper_within(20000));
  for (int i = 0; i < 20; ++i) {
    std::thread busy([] { life::use_malloc(20); });
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      life::give_up_after(60);
      CHECK(life::helper_thread() == 0);
      life::use_malloc(20);
      if (i % 10 == 0) {
        spike_in_threads();
        CHECK(has_helper_within(20000));
      }
      if (i % 2 == 0) _exit(0);
      std::exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    busy.join();
    life::pause_ms(i * 5);
  }
}

// The program ends at any moment: while the helper is being started, works, or sleeps.
void ending(const char* self) {
  for (int i = 0; i < 16; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      char ms[16];
      std::snprintf(ms, sizeof ms, "%d", i * i / 2);
      execl(self, self, "end", ms, nullptr);
      _exit(3);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

void end_after(int ms) {
  static std::atomic<bool> ready{false};
  std::thread([] {
    spike();
    ready.store(true);
    for (;;) life::use_malloc(1);
  }).detach();
  std::thread([] {
    for (;;) life::use_malloc(1), life::pause_ms(1);
  }).detach();
  while (!ready.load()) life::pause_ms(1);
  life::pause_ms(ms);
  std::exit(0);
}

// When the main thread leaves, the process continues, and ends normally with the last thread of the
// program, whichever that is: 0 to 2.
void main_leaves(const char* self) {
  for (const char* last : {"0", "1", "2"}) {
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      CHECK(dup2(pipe_ends[1], STDOUT_FILENO) == STDOUT_FILENO);
      close(pipe_ends[0]);
      close(pipe_ends[1]);
      execl(self, self, "leave", last, nullptr);
      _exit(3);
    }
    close(pipe_ends[1]);
    char text[64];
    std::size_t length = 0;
    for (ssize_t n; (n = read(pipe_ends[0], text + length, sizeof text - 1 - length)) > 0;) {
      length += std::size_t(n);
    }
    text[length] = '\0';
    close(pipe_ends[0]);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(std::strcmp(text, "written at exit") == 0);
  }
}

[[noreturn]] void leave(int last) {
  life::give_up_after(60);
  CHECK(std::atexit([] { CHECK(std::fputs("written at exit", stdout) >= 0); }) == 0);
  spike_in_threads();
  CHECK(has_helper_within(20000));
  // One thread uses malloc only through the library, the other one directly.
  if (last == 1) std::thread([] { life::pause_ms(100); }).detach();
  if (last == 2) {
    std::thread([] {
      while (life::helper_thread() != 0) life::pause_ms(5);
      spike_in_threads();
      CHECK(life::helper_thread() == 0);
    }).detach();
  }
  pthread_exit(nullptr);
}

// If no thread can be started, no memory is lost, and the allocator does not retry all the time.
void refused() {
  rlimit limit = {};
  CHECK(getrlimit(RLIMIT_NPROC, &limit) == 0);
  std::atomic<bool> is_limited{false};
  std::thread sleeper([&is_limited] {
    life::use_malloc(1);
    while (!is_limited) life::pause_ms(5);
    spike();
  });
  if (geteuid() == 0) CHECK(setuid(65534) == 0);
  limit.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_NPROC, &limit) == 0);
  is_limited = true;
  spike();
  for (int i = 0; i < 8; ++i) spike();
  sleeper.join();
  CHECK(!has_helper_within(100));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  const char* const which = argv[1];
  life::give_up_after(250);
  life::check_replacement();
  if (std::strcmp(which, "none") == 0) none();
  if (std::strcmp(which, "none-alone") == 0) none_alone();
  if (std::strcmp(which, "none-for-little") == 0) none_for_little();
  if (std::strcmp(which, "alone") == 0) alone();
  if (std::strcmp(which, "unnoticed") == 0) unnoticed();
  if (std::strcmp(which, "rests") == 0) rests();
  if (std::strcmp(which, "one-call") == 0) one_call();
  if (std::strcmp(which, "forked") == 0) forked();
  if (std::strcmp(which, "ending") == 0) ending(argv[0]);
  if (std::strcmp(which, "end") == 0) end_after(std::atoi(argv[2]));
  if (std::strcmp(which, "main-leaves") == 0) main_leaves(argv[0]);
  if (std::strcmp(which, "leave") == 0) leave(std::atoi(argv[2]));
  if (std::strcmp(which, "refused") == 0) refused();
  return life::passed(which);
}
