// SPDX-License-Identifier: Apache-2.0
// Large blocks that the program gives advice about, locks, or protects for a while, as array and
// cryptography libraries do. The system then splits its mappings, and realloc and free must cope.
// With "signals" or "stops", also with signals, or stops of the process, that interrupt the
// system's calls.
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "life.hpp"

namespace {

constexpr std::size_t kPage = 4096;

using Treatment = void (*)(char* part, std::size_t size);

constexpr Treatment kTreatments[] = {
    [](char*, std::size_t) {},
    [](char* part, std::size_t size) { madvise(part, size, MADV_HUGEPAGE); },
    [](char* part, std::size_t size) { madvise(part, size, MADV_NOHUGEPAGE); },
    [](char* part, std::size_t size) { madvise(part, size, MADV_DONTDUMP); },
    [](char* part, std::size_t size) { mlock(part, size < 65536 ? size : 65536); },
    [](char* part, std::size_t size) { madvise(part, size, MADV_MERGEABLE); },
    [](char* part, std::size_t size) {
      mprotect(part, size, PROT_READ);
      mprotect(part, size, PROT_READ | PROT_WRITE);
    },
};

char* whole_pages(char* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  return reinterpret_cast<char*>((address + kPage - 1) / kPage * kPage);
}

void check(const char* block, std::size_t size, char mark) {
  CHECK(block[0] == mark);
  CHECK(std::memcmp(block, block + 1, size - 1) == 0);
}

void grow_and_shrink(Treatment treat, std::size_t size, std::size_t skip, std::size_t part) {
  auto* block = static_cast<char*>(std::malloc(size));
  auto* wall = static_cast<char*>(std::malloc(size));  // often prevents growing in place
  CHECK(block != nullptr && wall != nullptr);
  std::memset(block, 'a', size);
  std::memset(wall, 'b', size);
  treat(whole_pages(block) + skip, part);
  for (std::size_t larger = size * 3 / 2; larger < size * 8; larger = larger * 3 / 2) {
    block = static_cast<char*>(std::realloc(block, larger));
    CHECK(block != nullptr);
    check(block, larger * 2 / 3 < size ? size : larger * 2 / 3, 'a');
    std::memset(block, 'a', larger);
    treat(whole_pages(block) + skip, part);
  }
  block = static_cast<char*>(std::realloc(block, size / 2));
  CHECK(block != nullptr);
  check(block, size / 2, 'a');
  check(wall, size, 'b');
  std::free(block);
  std::free(wall);
}

void send_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  struct sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const itimerspec often{{0, 300000}, {0, 300000}};
  CHECK(timer_settime(timer, 0, &often, nullptr) == 0);
}

// Another process stops this one, and lets it go on, again and again.
void send_stops() {
  const pid_t stopped = getpid();
  const pid_t sender = fork();
  CHECK(sender >= 0);
  if (sender != 0) return;
  while (getppid() == stopped) {
    kill(stopped, SIGSTOP);
    usleep(50);
    kill(stopped, SIGCONT);
    usleep(300);
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(120);
  life::check_replacement();
  const std::string_view interruption = argc > 1 ? argv[1] : "";
  if (interruption == "signals") send_signals();
  if (interruption == "stops") send_stops();
  for (Treatment treat : kTreatments) {
    for (std::size_t size : {600000, 3000000, 9000000}) {
      grow_and_shrink(treat, size, 8 * kPage, 100 * kPage);
      grow_and_shrink(treat, size, 0, 16 * kPage);
      grow_and_shrink(treat, size, 70 * kPage, 33 * kPage);
    }
  }
  const std::size_t early = life::status_kib("VmSize");
  const int rounds = life::is_control() ? 4 : 20;
  for (int round = 0; round < rounds; ++round) {
    for (Treatment treat : kTreatments) grow_and_shrink(treat, 3000000, 8 * kPage, 100 * kPage);
  }
  const std::size_t late = life::status_kib("VmSize");
  std::fprintf(stderr, "virtual size %zu KiB, %zu KiB after %d more rounds\n", early, late, rounds);
  CHECK(late < early + (64U << 10));
  return life::passed("advised blocks");
}
