// SPDX-License-Identifier: Apache-2.0
// The stacks of a busy program, captured at random moments, are right at any instruction.
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "shapes.hpp"
#include "unwind_test.hpp"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr unsigned kSamples = 1000;
#else
constexpr unsigned kSamples = 10000;
#endif
constexpr unsigned kMax = 256;

struct List {
  void* frames[kMax];
  unsigned count;
};

std::atomic<unsigned> samples{0};
std::atomic<unsigned> wrong{0};
std::atomic<unsigned> frames_seen{0};

thread_local timer_t timer;

// The next signal comes a while after this one, however long that took.
void arm_timer() {
  thread_local unsigned random = 1;
  random = random * 1103515245 + 12345;
  const itimerspec once{{0, 0}, {0, long(10000 + random / 65536 % 128 * 1000)}};
  timer_settime(timer, 0, &once, nullptr);
}

void work(unsigned seed);

#if defined(__x86_64__)

// Without malloc, which the signal may have interrupted.
void list_by_libgcc(List* list) {
  list->count = 0;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        auto& to = *static_cast<List*>(argument);
        int exact = 0;
        auto* const pc = reinterpret_cast<char*>(_Unwind_GetIPInfo(context, &exact));
        if (pc == nullptr || to.count == kMax) return _URC_END_OF_STACK;
        to.frames[to.count++] = pc + exact;
        return _URC_NO_REASON;
      },
      list);
}

// libgcc's stack begins in this handler, and then comes what the signal has interrupted.
bool is_right(const List& ours) {
  List libgccs;
  list_by_libgcc(&libgccs);
  unsigned begin = 0;
  while (begin < libgccs.count && libgccs.frames[begin] != ours.frames[0]) ++begin;
  return libgccs.count - begin == ours.count &&
         std::memcmp(libgccs.frames + begin, ours.frames, ours.count * sizeof(void*)) == 0;
}

#else

// Here libgcc cannot start at any instruction: it faults where a stub calls another library.
bool is_right(const List& ours) {
  for (unsigned i = 0; i < ours.count; ++i) {
    if (unwind_test::is_in(ours.frames[i], work)) return true;
  }
  return false;
}

#endif

void on_sample(int, siginfo_t*, void* context) {
  if (samples.load() >= kSamples) return;
  List ours;
  ours.count = corbel::unwind::capture_from(context, ours.frames, kMax);
  ++samples;
  frames_seen += ours.count;
  constexpr unsigned kMaxPrinted = 3;
  if (!is_right(ours) && ++wrong <= kMaxPrinted) {
    unwind_test::print("wrong", unwind_test::Frames(ours.frames, ours.frames + ours.count));
  }
  arm_timer();
}

// ---- what the program does ------------------------------------------------------------------

int ascending(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

std::size_t sort_words(std::mt19937& random) {
  std::map<std::string, int> words;
  for (unsigned i = 0; i < 200; ++i) {
    std::ostringstream text;
    text << random() % 1000 << ' ' << double(random()) / 7;
    ++words[text.str()];
  }
  return words.size();
}

std::size_t sort_numbers(std::mt19937& random) {
  std::vector<int> numbers(300);
  for (int& number : numbers) number = int(random() % 1000000);
  std::vector<int> copy = numbers;
  std::qsort(copy.data(), copy.size(), sizeof copy[0], ascending);
  std::sort(numbers.begin(), numbers.end());
  return numbers == copy ? 1 : 0;
}

std::size_t match(std::mt19937& random) {
  static const std::regex pattern("(a|b)*c(d|e)+f?");
  std::string text;
  for (unsigned i = 0; i < 30; ++i) text += char('a' + random() % 6);
  return std::regex_search(text, pattern) ? 1 : 0;
}

void through_shapes(std::mt19937& random) {
  through_all([](void* argument) { sort_words(*static_cast<std::mt19937*>(argument)); }, &random);
}

void work(unsigned seed) {
  std::mt19937 random(seed);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event._sigev_un._tid = pid_t(syscall(SYS_gettid));
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  arm_timer();
  std::size_t sum = 0;
  while (samples.load() < kSamples) {
    sum += sort_words(random) + sort_numbers(random) + match(random);
    through_shapes(random);
    char text[100];
    std::snprintf(text, sizeof text, "%zu %f %s", sum, double(sum), "words");
  }
  timer_delete(timer);
}

TEST_CASE(random_stacks_are_right) {
#if defined(__SANITIZE_THREAD__)
  throw unwind_test::Skip{"the sanitizer delays signals: their contexts are of the past"};
#endif
  struct sigaction action{};
  action.sa_sigaction = on_sample;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  std::thread other(work, 2);
  work(1);
  other.join();
  std::printf("%u samples, %u frames each, %u wrong\n", samples.load(),
              frames_seen.load() / samples.load(), wrong.load());
  CHECK(wrong == 0);
}

}  // namespace
