// SPDX-License-Identifier: Apache-2.0
// Requests of the corbel command, which come in a signal handler anywhere in the program. The tests
// play the command themselves: a thread that blocks the signal asks the other threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "alloc/heap/thread.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/container_limit.hpp"
#include "alloc/policy/heap_limit.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/config.hpp"
#include "corbel/malloc.h"
#include "os/linux/request.hpp"

namespace corbel::alloc {
namespace {

namespace request = os::request;

constexpr int kPatience = 60000;  // ms; only a failure takes so long

void change_mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, request::kSignal);
  ASSERT_EQ(pthread_sigmask(how, &set, nullptr), 0);
}

bool waits_for_input(int file, int ms) {
  pollfd wanted{file, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&wanted, 1, ms);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

// A socket as the corbel command makes it.
class Listener {
 public:
  Listener() : file_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    static std::atomic<std::uint64_t> next{0};
    number_ = (std::uint64_t(getpid()) << 24 | next.fetch_add(1)) & request::kNumberMask;
    const request::Address own = request::address_of(number_);
    EXPECT_EQ(bind(file_, reinterpret_cast<const sockaddr*>(&own.address), own.size), 0);
    EXPECT_EQ(listen(file_, 1), 0);
  }
  ~Listener() { close(file_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint64_t number() const { return number_; }

  // The answer, from its status line to its end; "nothing" if no process connects.
  std::string answer_to(const std::string& command, int ms = kPatience) const {
    if (!waits_for_input(file_, ms)) return "nothing";
    const int peer = accept(file_, nullptr, nullptr);
    const std::string line = command + "\n";
    send(peer, line.data(), line.size(), MSG_NOSIGNAL);
    std::string text;
    char part[4096];
    while (waits_for_input(peer, kPatience)) {
      const ssize_t got = recv(peer, part, sizeof part, 0);
      if (got <= 0) break;
      text.append(part, std::size_t(got));
    }
    close(peer);
    return text;
  }

 private:
  int file_;
  std::uint64_t number_ = 0;
};

// `thread` 0: whichever thread of the process the system chooses.
bool send_signal(std::uint64_t value, int thread = 0, pid_t process = getpid()) {
  siginfo_t info{};
  info.si_signo = request::kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(value);
  return 0 == (thread != 0
                   ? syscall(SYS_rt_tgsigqueueinfo, process, thread, request::kSignal, &info)
                   : syscall(SYS_rt_sigqueueinfo, process, request::kSignal, &info));
}

// Not for a question of a thread to itself, which would be interrupted before it could listen.
std::string ask(const std::string& command, int thread = 0, pid_t process = getpid()) {
  const Listener listener;
  // The signal is lost where another one is pending.
  std::string answer = "nothing";
  for (int tries = 0; answer == "nothing" && tries < kPatience / 100; ++tries) {
    EXPECT_TRUE(send_signal(request::kMark | listener.number(), thread, process));
    answer = listener.answer_to(command, 100);
  }
  return answer;
}

// The content without the status line and the sizes; "" if the answer is not complete.
std::string content_of(const std::string& answer) {
  if (answer.rfind("ok\n", 0) != 0) return {};
  std::string content;
  for (std::size_t at = 3; at + 4 <= answer.size();) {
    const auto byte = [&](int i) {
      return std::size_t(static_cast<unsigned char>(answer[at + i]));
    };
    const std::size_t size = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
    at += 4;
    if (size == 0) return at == answer.size() ? content : std::string();
    content += answer.substr(at, size);
    at += size;
  }
  return {};
}

bool is_state(const std::string& answer) {
  const std::string content = content_of(answer);
  return content.rfind("{\"heap\":{\"version\":", 0) == 0 && content.back() == '}';
}

// Runs `what` in a thread that the signal does not reach, and waits for it.
void beside(const std::function<void()>& what) {
  std::thread thread([&] {
    change_mask(SIG_BLOCK);
    what();
  });
  thread.join();
}

// Asks the process from such a thread.
std::string answer_to(const std::string& command) {
  std::string answer;
  beside([&] { answer = ask(command); });
  return answer;
}

std::string status_of(int thread, const char* key) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(line.find_first_not_of(" \t", strlen(key) + 1));
  }
  return {};
}

bool blocks_requests(int thread) {
  const std::string set = status_of(thread, "SigBlk");
  return set.empty() || (std::stoull(set, nullptr, 16) >> (request::kSignal - 1) & 1) != 0;
}

bool use_malloc(unsigned seed) {
  for (const std::size_t size : {24U, 500U, 9000U, 70000U, 300000U}) {
    char* block = static_cast<char*>(scalable_malloc(size + seed % 7));
    if (block == nullptr) return false;
    block[0] = block[size - 1] = char(seed);
    block = static_cast<char*>(scalable_realloc(block, size * 2));
    if (block == nullptr || block[0] != char(seed) || block[size - 1] != char(seed)) return false;
    scalable_free(block);
  }
  return true;
}

class ControlTest : public testing::Test {
 protected:
  void SetUp() override {
    alarm(240);
    scalable_free(scalable_malloc(1));  // sets the process up
  }
};

TEST_F(ControlTest, Answers) {
  EXPECT_EQ(content_of(answer_to("version")), config::kVersion);
  EXPECT_NE(content_of(answer_to("stats")).find("\"footprint\":"), std::string::npos);
  EXPECT_TRUE(is_state(answer_to("state")));
  EXPECT_EQ(answer_to("tasks"), "error the process runs no tasks of Corbel\n");
  EXPECT_EQ(answer_to("versions").rfind("error ", 0), 0U);
  EXPECT_EQ(answer_to("").rfind("error ", 0), 0U);
}

TEST_F(ControlTest, TheStatisticsAreThoseOfTheCall) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(scalable_malloc(3000));
  char text[24 << 10];
  // What the calling thread caches counts otherwise in a handler; the address space does not.
  const std::string asked = content_of(answer_to("stats"));
  ASSERT_LT(corbel_heap_stats_json(text, sizeof text), sizeof text);
  const auto field = [](const std::string& json, const char* name) {
    return json.substr(json.find(name), json.find(',', json.find(name)) - json.find(name));
  };
  for (const char* name : {"\"footprint\":", "\"mapped\":", "\"threads\":", "\"metadata\":",
                           "\"soft_limit\":", "\"map_calls\":", "\"uncommitted\":"}) {
    EXPECT_EQ(field(asked, name), field(text, name));
  }
  for (void* block : blocks) scalable_free(block);
}

TEST_F(ControlTest, OtherSignalsAreNoRequests) {
  const Listener listener;
  ASSERT_EQ(kill(getpid(), request::kSignal), 0);
  ASSERT_EQ(raise(request::kSignal), 0);
  ASSERT_TRUE(send_signal(listener.number()));                        // without the mark
  ASSERT_TRUE(send_signal(request::kMark << 1 | listener.number()));  // another mark
  EXPECT_EQ(listener.answer_to("version", 0), "nothing");
  // A number without a socket.
  ASSERT_TRUE(send_signal(request::kMark | (listener.number() ^ 1)));
  EXPECT_EQ(content_of(answer_to("version")), config::kVersion);
}

TEST_F(ControlTest, StartsAndWritesTheHeapProfile) {
  EXPECT_EQ(answer_to("profile heap write"), "error the heap profile has not been started\n");
  EXPECT_EQ(answer_to("profile heap start every=0").rfind("error ", 0), 0U);
  EXPECT_EQ(answer_to("profile heap start every=1x").rfind("error ", 0), 0U);
  EXPECT_EQ(answer_to("profile heap begin").rfind("error ", 0), 0U);
  EXPECT_EQ(content_of(answer_to("profile heap start every=1")), "off");
  EXPECT_EQ(content_of(answer_to("profile heap start")), "on");
  for (unsigned i = 0; i < 1000; ++i) ASSERT_TRUE(use_malloc(i));
  const std::string profile = content_of(answer_to("profile heap write"));
  ASSERT_GT(profile.size(), 500U);
  EXPECT_EQ(profile.substr(0, 3), "\x1f\x8b\x08");
  EXPECT_NE(profile.find("alloc_space"), std::string::npos);  // stored, not compressed
  EXPECT_EQ(answer_to("profile heap stop"), std::string("ok\n\0\0\0\0", 7));
  EXPECT_EQ(content_of(answer_to("profile heap start")), "again");
  EXPECT_EQ(answer_to("profile heap stop"), std::string("ok\n\0\0\0\0", 7));
}

TEST_F(ControlTest, ChecksForLeaks) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer cannot follow a process that shares the memory of another";
#endif
  EXPECT_EQ(answer_to("leaks").rfind("error its blocks are not recorded", 0), 0U);
  EXPECT_EQ(answer_to("leaks sampled").rfind("error no block has been sampled", 0), 0U);
  EXPECT_EQ(answer_to("leaks now").rfind("error ", 0), 0U);
  EXPECT_EQ(content_of(answer_to("profile heap start every=1")), "off");
  const int self = gettid();
  for (sync::Lock* lock : {&samples_lock, &metadata_lock}) {
    lock->lock();
    beside([&] { EXPECT_EQ(ask("leaks sampled", self), "busy\n"); });
    lock->unlock();
  }
  const std::string report = content_of(answer_to("leaks sampled"));
  if (report.find("\nfailed the system does not let it stop the threads") != std::string::npos) {
    GTEST_SKIP() << "the system refuses ptrace";
  }
  EXPECT_EQ(report.rfind("corbel-leaks 1\nprocess ", 0), 0U) << report;
  EXPECT_NE(report.find("\nsampled 1 "), std::string::npos) << report;
  EXPECT_EQ(report.substr(report.size() - 5), "\nend\n");
}

TEST_F(ControlTest, StartsTheHeapProfileBesideAnotherUseOfSamples) {
  start_sampling(kMaxSamplingDistance, SampledFor::kGuards);
  EXPECT_EQ(content_of(answer_to("profile heap start")), "off");
  EXPECT_TRUE(samples_for(SampledFor::kProfile));
  EXPECT_EQ(content_of(answer_to("profile heap start")), "on");
  EXPECT_EQ(answer_to("profile heap stop"), std::string("ok\n\0\0\0\0", 7));
  EXPECT_EQ(content_of(answer_to("profile heap start")), "again");
  stop_sampling();
  stop_sampling(SampledFor::kGuards);
}

// A program may give its signal handlers a stack of this size.
TEST_F(ControlTest, NeedsLittleStack) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers need more stack";
#endif
  // What the kernel needs for itself, and a little.
  const std::size_t size =
      (std::size_t(sysconf(_SC_MINSIGSTKSZ)) + 1024 + 4095) & ~std::size_t(4095);
  char* memory = static_cast<char*>(
      mmap(nullptr, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory, 4096, PROT_NONE), 0);
  stack_t stack{};
  stack.ss_sp = memory + 4096;
  stack.ss_size = size;
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  const int self = gettid();
  for (const char* command : {"version", "stats", "state", "tasks", "profile heap start every=1",
                              "profile heap write", "leaks sampled", "profile heap stop"}) {
    beside([&] { EXPECT_EQ(ask(command, self).rfind("busy", 0), std::string::npos); });
  }
  std::size_t untouched = 0;
  while (untouched < size && memory[4096 + untouched] == 0) ++untouched;
  EXPECT_LT(untouched, size);  // it was used
  stack.ss_flags = SS_DISABLE;
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
}

TEST_F(ControlTest, IsBusyWhereTheInterruptedCodeHoldsALock) {
  const int self = gettid();
  for (sync::Lock* lock :
       {&registry_lock, &span_heap.lock(), &container_limit.lock(), &heap_limit.lock()}) {
    lock->lock();
    beside([&] { EXPECT_EQ(ask("state", self), "busy\n"); });
    lock->unlock();
    beside([&] { EXPECT_TRUE(is_state(ask("state", self))); });
  }
}

// As a signal handler forks that has interrupted the allocator.
TEST_F(ControlTest, IsBusyAfterAForkThatInheritsALock) {
  const auto answer_of_this_thread = [] {
    std::string answer;
    const int self = gettid();
    beside([&] { answer = ask("state", self); });
    return answer;
  };
  span_heap.lock().lock();
  const pid_t child = fork();
  if (child == 0) _exit(answer_of_this_thread() == "busy\n" ? 0 : 1);
  EXPECT_EQ(answer_of_this_thread(), "busy\n");
  span_heap.lock().unlock();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ControlTest, AForkedChildAnswers) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  std::string answer;
  do {
    answer = ask("state", 0, child);
  } while (answer == "busy\n");  // the child may still be in its fork handlers
  EXPECT_TRUE(is_state(answer));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Requests for all threads while they allocate, fail to open files and fork.
TEST_F(ControlTest, ManyRequestsInBusyThreads) {
  constexpr unsigned kThreads = 2;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr unsigned kRequests = 100;
#else
  constexpr unsigned kRequests = 400;
#endif
  std::atomic<bool> stop{false};
  std::atomic<int> ids[kThreads]{};
  std::atomic<unsigned> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ids[t] = gettid();
      for (unsigned i = 0; !stop; ++i) {
        errno = EDOM;
        if (!use_malloc(i)) ++failures;
        if (errno != EDOM) ++failures;
        if (open("/nowhere/at/all", O_RDONLY) >= 0 || errno != ENOENT) ++failures;
      }
    });
  }
#if !defined(__SANITIZE_THREAD__)  // which forks only while no other thread is active
  threads.emplace_back([&] {
    while (!stop) {
      const pid_t child = fork();
      if (child == 0) _exit(use_malloc(3) ? 0 : 1);
      int status = -1;
      if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failures;
    }
  });
#endif
  for (const auto& id : ids) {
    while (id == 0) std::this_thread::yield();
  }
  // Both are busy now and then: with another request, or where they have interrupted a change.
  const auto ask_each = [&](unsigned offset, unsigned requests) {
    change_mask(SIG_BLOCK);
    for (unsigned answered = 0, i = offset; answered < requests; ++i) {
      const unsigned which = i % (kThreads + 1);
      const std::string answer = ask("state", which < kThreads ? ids[which].load() : 0);
      if (is_state(answer)) {
        ++answered;
      } else if (answer != "busy\n") {
        ++failures;
        ADD_FAILURE() << "answer: " << answer;
        break;
      }
    }
  };
  std::thread first(ask_each, 0, kRequests / 2);
  std::thread second(ask_each, 2, kRequests / 2);
  first.join();
  second.join();
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0U);
}

TEST_F(ControlTest, ASystemCallThatTheKernelRestartsGoesOn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer calls the handler after the system call";
#endif
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  std::atomic<int> id{0};
  ssize_t got = 0;
  std::thread reader([&] {
    id = gettid();
    char byte;
    got = read(pipes[0], &byte, 1);
  });
  while (id == 0 || status_of(id, "State")[0] != 'S') std::this_thread::yield();
  beside([&] { EXPECT_TRUE(is_state(ask("state", id))); });
  ASSERT_EQ(write(pipes[1], "x", 1), 1);
  reader.join();
  EXPECT_EQ(got, 1);
  close(pipes[0]);
  close(pipes[1]);
}

std::atomic<int> own_signals{0};
void own_handler(int) { own_signals.fetch_add(1); }

void handle_ourselves() {
  struct sigaction action{};
  action.sa_handler = own_handler;
  ASSERT_EQ(sigaction(request::kSignal, &action, nullptr), 0);
}

TEST_F(ControlTest, AProgramMayReplaceTheHandler) {
  handle_ourselves();
  ASSERT_EQ(raise(request::kSignal), 0);
  EXPECT_EQ(own_signals, 1);
}

// These set the process up themselves.
class ControlSetUpTest : public testing::Test {
 protected:
  void SetUp() override { alarm(240); }
  static struct sigaction disposition() {
    scalable_free(scalable_malloc(1));
    struct sigaction now{};
    EXPECT_EQ(sigaction(request::kSignal, nullptr, &now), 0);
    return now;
  }
};

TEST_F(ControlSetUpTest, KeepsAHandlerThatWasThere) {
  handle_ourselves();
  EXPECT_EQ(disposition().sa_handler, own_handler);
}

TEST_F(ControlSetUpTest, KeepsAnIgnoredSignal) {
  ASSERT_NE(signal(request::kSignal, SIG_IGN), SIG_ERR);
  EXPECT_EQ(disposition().sa_handler, SIG_IGN);
}

TEST_F(ControlSetUpTest, IsTurnedOffByTheEnvironment) {
  ASSERT_EQ(setenv("CORBEL_CONTROL", "0", 1), 0);
  EXPECT_EQ(disposition().sa_handler, SIG_DFL);
}

TEST_F(ControlSetUpTest, InstallsAHandlerOtherwise) {
  const struct sigaction now = disposition();
  EXPECT_NE(now.sa_handler, SIG_DFL);
  EXPECT_EQ(now.sa_flags & (SA_RESTART | SA_ONSTACK | SA_SIGINFO),
            SA_RESTART | SA_ONSTACK | SA_SIGINFO);
}

// ---- the helper thread --------------------------------------------------------------------------

class ControlHelperTest : public testing::Test {
 protected:
  void SetUp() override {
    alarm(240);
    ASSERT_EQ(setenv("CORBEL_HELPER_THREAD", "always", 1), 0);
    ASSERT_EQ(setenv("CORBEL_PURGE_DELAY", "20", 1), 0);
    while (helper_ == 0) {
      work();
      find_helper();
    }
    // A program that is not asked keeps all its signals.
    ASSERT_TRUE(blocks_requests(helper_));
    ASSERT_EQ(content_of(answer_to("version")), config::kVersion);
    while (blocks_requests(helper_)) std::this_thread::yield();
  }

  // Slow paths, and memory to be purged.
  static void work() {
    std::vector<void*> blocks;
    for (int i = 0; i < 40; ++i) blocks.push_back(scalable_malloc(1 << 20));
    for (void* block : blocks) std::memset(block, 1, 1 << 20);
    for (void* block : blocks) scalable_free(block);
  }

  void find_helper() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      const int thread = std::stoi(entry.path().filename());
      if (status_of(thread, "Name") == "corbel") helper_ = thread;
    }
  }

  int helper_ = 0;
};

TEST_F(ControlHelperTest, Answers) { EXPECT_TRUE(is_state(ask("state", helper_))); }

TEST_F(ControlHelperTest, LeavesOtherSignalsToTheProgram) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer calls the handler late, and drops the mask that it sets";
#endif
  change_mask(SIG_BLOCK);
  ASSERT_EQ(kill(getpid(), request::kSignal), 0);
  // It is the only thread that does not block it.
  while (!blocks_requests(helper_)) std::this_thread::yield();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, request::kSignal);
  const timespec patience{kPatience / 1000, 0};
  EXPECT_EQ(sigtimedwait(&set, nullptr, &patience), request::kSignal);
}

TEST_F(ControlHelperTest, RunsNoHandlerOfTheProgram) {
  change_mask(SIG_BLOCK);
  handle_ourselves();
  while (!blocks_requests(helper_)) work();
  ASSERT_EQ(kill(getpid(), request::kSignal), 0);
  EXPECT_EQ(own_signals, 0);
  change_mask(SIG_UNBLOCK);
  EXPECT_EQ(own_signals, 1);
}

// ---- other users --------------------------------------------------------------------------------

constexpr uid_t kOtherUser = 65534;

TEST_F(ControlTest, AnotherUserGetsNoAnswer) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  int numbers[2];
  ASSERT_EQ(pipe(numbers), 0);
  const pid_t other = fork();
  if (other == 0) {
    if (setuid(kOtherUser) != 0) _exit(3);
    const Listener listener;
    const std::uint64_t number = listener.number();
    if (write(numbers[1], &number, sizeof number) != sizeof number) _exit(4);
    _exit(listener.answer_to("version").empty() ? 0 : 1);
  }
  std::uint64_t number = 0;
  ASSERT_EQ(read(numbers[0], &number, sizeof number), ssize_t(sizeof number));
  ASSERT_TRUE(send_signal(request::kMark | number));
  int status = -1;
  // The thread sanitizer runs no handler while waitpid() waits.
  while (waitpid(other, &status, WNOHANG) == 0) usleep(1000);
  EXPECT_EQ(status, 0);
  close(numbers[0]);
  close(numbers[1]);
}

TEST_F(ControlTest, AProcessThatHidesItselfAnswersRootOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t child = fork();
  if (child == 0) {
    // After this the process does not let its user look into it.
    if (setuid(kOtherUser) != 0) _exit(3);
    if (prctl(PR_GET_DUMPABLE) == 1 && prctl(PR_SET_DUMPABLE, 0) != 0) _exit(4);
    if (!answer_to("version").empty()) _exit(1);
    if (prctl(PR_SET_DUMPABLE, 1) != 0) _exit(5);
    _exit(content_of(answer_to("version")) == config::kVersion ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace corbel::alloc
