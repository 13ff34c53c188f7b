// SPDX-License-Identifier: Apache-2.0
// After a load spike the resident size falls again by itself, whichever threads made and freed the
// blocks, although no thread that owns the memory calls the allocator again.
// Usage: spike_goes_back asleep|ended|one|crowd [trim]
//   asleep  three threads make and free, and sleep        ended   three threads make, free and end
//   one     three make and sleep, the main thread frees   crowd   a thousand make, free and sleep
//   trim    malloc_trim gives it all back at once, without waiting
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "helper.hpp"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSpike = 300 * kMiB;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlack = 16 * kMiB;

struct Block {
  unsigned char* address;
  std::size_t size;
};

struct Crowd {
  explicit Crowd(unsigned n) : count(n), kept(n), made(n), begun(n), done(n), finished(n) {}
  const unsigned count;
  std::vector<std::vector<Block>> kept, made;
  std::latch begun, done, finished;
  std::latch go{1}, over{1};
  bool ends = false, frees = true;
};

struct Member {
  Crowd* crowd;
  unsigned number;
};

void make(Crowd& crowd, unsigned number) {
  std::mt19937 random(number);
  std::vector<Block>& blocks = crowd.made[number];
  for (std::size_t bytes = 0; bytes < kSpike / crowd.count;) {
    const std::size_t size = (32u << random() % 8) + random() % 32;
    blocks.push_back({life::make_block(size), size});
    bytes += size;
  }
}

// Frees eleven of twelve blocks.
void free_most(Crowd& crowd, unsigned number) {
  std::vector<Block> blocks = std::move(crowd.made[number]);
  std::mt19937 random(number + 1);
  for (const Block& block : blocks) {
    if (random() % 12 == 0) {
      crowd.kept[number].push_back(block);
    } else {
      life::free_block(block.address, block.size);
    }
  }
}

void* run(void* argument) {
  const auto [crowd, number] = *static_cast<Member*>(argument);
  crowd->begun.count_down();
  crowd->go.wait();
  make(*crowd, number);
  crowd->done.arrive_and_wait();  // so that no two of them use the same memory
  if (crowd->frees) free_most(*crowd, number);
  crowd->finished.count_down();
  if (!crowd->ends) crowd->over.wait();
  return nullptr;
}

// The pages that no allocator could give back.
std::size_t pinned(const Crowd& crowd) {
  std::vector<std::uintptr_t> pages;
  for (const auto& blocks : crowd.kept) {
    for (const Block& block : blocks) {
      const auto first = reinterpret_cast<std::uintptr_t>(block.address);
      for (auto page = first / kPage; page <= (first + block.size - 1) / kPage; ++page) {
        pages.push_back(page);
      }
    }
  }
  std::sort(pages.begin(), pages.end());
  return std::size_t(std::unique(pages.begin(), pages.end()) - pages.begin()) * kPage;
}

std::size_t resident() { return life::status_kib("VmRSS") * 1024; }

}  // namespace

int main(int argc, char** argv) {
  life::check_replacement();
  life::give_up_after(200);
  CHECK(argc >= 2);
  const std::string what = argv[1];
  Crowd crowd(what == "crowd" ? 1000 : 3);
  crowd.ends = what == "ended";
  crowd.frees = what != "one";
  std::vector<Member> members(crowd.count);
  std::vector<pthread_t> threads(crowd.count);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 256 << 10);
  for (unsigned i = 0; i < crowd.count; ++i) {
    members[i] = {&crowd, i};
    CHECK(pthread_create(&threads[i], &small, run, &members[i]) == 0);
  }
  crowd.begun.wait();
  const std::size_t before = resident();
  crowd.go.count_down();
  crowd.finished.wait();
  for (unsigned i = 0; i < crowd.count && !crowd.frees; ++i) free_most(crowd, i);
  if (crowd.ends) {
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  const std::size_t at_first = resident();
  const std::size_t goal = before + pinned(crowd) / 10 * 11 + kSlack;
  CHECK(at_first > goal);
  if (argc > 2) {
    // A thread counts as idle only once it sleeps.
    if (!crowd.ends) life::wait_until_others_sleep();
    malloc_trim(0);
  }
  const auto start = std::chrono::steady_clock::now();
  std::size_t now = resident();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (argc == 2 && now > goal && seconds() < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    now = resident();
  }
  std::printf("life: %zu MiB before, %zu after the spike, %zu after %.1f s, %zu pinned\n",
              before / kMiB, at_first / kMiB, now / kMiB, seconds(), pinned(crowd) / kMiB);
  std::fflush(stdout);
  CHECK(now <= goal);
  crowd.over.count_down();
  if (!crowd.ends) {
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  for (const auto& blocks : crowd.kept) {
    for (const Block& block : blocks) life::free_block(block.address, block.size);
  }
  return life::passed("spike-goes-back");
}
