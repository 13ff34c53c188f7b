// SPDX-License-Identifier: Apache-2.0
// Ends of a load spike that kernel `spike` does not cover: the threads that made it have ended;
// they sleep, and another thread frees it; or many threads made it, and each keeps a little.
#include <pthread.h>

#include <latch>
#include <memory>
#include <semaphore>
#include <string>

#include "load_spike.hpp"

namespace {

using load_spike::Block;
using load_spike::Part;

constexpr unsigned kFew = 3;
// The number that work at the same time, and their stacks, as in kernel `idle_threads`.
constexpr unsigned kAtOnce = 2;
constexpr std::size_t kStack = 256 << 10U;

struct Load {
  explicit Load(unsigned threads, std::size_t mib)
      : bytes((mib << 20U) / threads), parts(threads), all(threads), made(threads) {}
  const std::size_t bytes;  // of each thread
  std::vector<Part> parts;
  std::vector<std::vector<Block>> all;
  std::latch made;
  std::latch over{1};
};

void ended_threads(Load& load, unsigned samples, bench::Result& result) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kFew; ++i) {
    threads.emplace_back([&, i] {
      bench::Random random(i + 1);
      load_spike::survive(random, load_spike::make(random, load.bytes, load.parts[i]),
                          load.parts[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  bench::Random random(99);
  load_spike::watch(samples, result, [&] { load_spike::work_a_little(random); });
}

// The main thread keeps freeing. It does not allocate while memory is watched.
void one_frees(Load& load, unsigned samples, bench::Result& result) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kFew; ++i) {
    threads.emplace_back([&, i] {
      bench::Random random(i + 1);
      load.all[i] = load_spike::make(random, load.bytes, load.parts[i]);
      load.made.count_down();
      load.over.wait();
    });
  }
  load.made.wait();
  bench::Random random(77);
  for (unsigned i = 0; i < kFew; ++i) {
    load_spike::survive(random, std::move(load.all[i]), load.parts[i]);
  }
  load_spike::watch(samples, result, [&] {
    for (Part& part : load.parts) {
      for (unsigned i = 0; i < 5 && !part.survivors.empty(); ++i) {
        load_spike::give_back(part.survivors.back());
        part.survivors.pop_back();
      }
    }
  });
  for (unsigned i = 0; i < kFew; ++i) {
    load.parts[i].stack = load_spike::stack_bytes(threads[i].native_handle());
  }
  load.over.count_down();
  for (std::thread& thread : threads) thread.join();
}

struct Crowd {
  Load& load;
  std::counting_semaphore<kAtOnce> room{kAtOnce};
  std::latch freed;
};

struct Member {
  Crowd* crowd;
  unsigned number;
};

void* work_then_sleep(void* argument) {
  const auto [crowd, number] = *static_cast<Member*>(argument);
  bench::Random random(number + 1);
  Part& part = crowd->load.parts[number];
  std::vector<Block> blocks = load_spike::make(random, crowd->load.bytes, part);
  crowd->room.release();
  crowd->load.made.arrive_and_wait();
  crowd->room.acquire();
  load_spike::survive(random, std::move(blocks), part);
  crowd->room.release();
  crowd->freed.count_down();
  crowd->load.over.wait();
  return nullptr;
}

void idle_crowd(Load& load, unsigned samples, bench::Result& result) {
  const auto count = static_cast<unsigned>(load.parts.size());
  Crowd crowd{.load = load, .freed = std::latch(count)};
  std::vector<Member> members(count);
  std::vector<pthread_t> threads(count);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  for (unsigned i = 0; i < count; ++i) {
    crowd.room.acquire();
    members[i] = {&crowd, i};
    const int error = pthread_create(&threads[i], &attributes, work_then_sleep, &members[i]);
    bench::check(error == 0, "a thread could not be made");
  }
  pthread_attr_destroy(&attributes);
  crowd.freed.wait();
  bench::Random random(99);
  load_spike::watch(samples, result, [&] { load_spike::work_a_little(random); });
  for (unsigned i = 0; i < count; ++i) {
    load.parts[i].stack = load_spike::stack_bytes(threads[i]);
  }
  load.over.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::string who = arguments.text("who", "ended");
  const auto samples = static_cast<unsigned>(arguments.number("samples", 1));
  const auto crowd = static_cast<unsigned>(arguments.number("crowd", 20));
  const auto load =
      std::make_unique<Load>(who == "crowd" ? crowd : kFew, arguments.number("mib", 10));
  const double begin = bench::now();
  if (who == "ended") {
    ended_threads(*load, samples, result);
  } else if (who == "one") {
    one_frees(*load, samples, result);
  } else if (who == "crowd") {
    idle_crowd(*load, samples, result);
  } else {
    bench::wrong("who= must be ended, one or crowd");
  }
  result.seconds = bench::now() - begin;
  load_spike::conclude(load->parts, result);
  load_spike::give_back(load->parts);
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "decay",
    .title = "After a load spike by other threads",
    .what =
        "300 MiB (100 in a quick run) are allocated and all but 8 % of the blocks freed: by "
        "three threads that end, by the main thread while the three that allocated them sleep, "
        "or by a thousand threads (250) that then sleep. The curve is the resident set for the "
        "next 6 seconds (1.5 in a quick run) and the figure its end; the main thread does a "
        "little work four times a second, or none if it is the one that frees; the bound is the "
        "pages of the surviving blocks and the stacks, plus a tenth and 16 MiB.",
    .group = "modern allocator",
    .metric = "resident memory at the end",
    .unit = "MiB",
    .plot = "decay",
    .watches = true,
    .cases = {{"ended threads", "who=ended mib=100 samples=6", "who=ended mib=300 samples=24",
               "who=ended mib=300 samples=24"},
              {"one thread frees", "who=one mib=100 samples=6", "who=one mib=300 samples=24",
               "who=one mib=300 samples=24"},
              {"idle threads", "who=crowd crowd=250 mib=100 samples=6",
               "who=crowd crowd=1000 mib=300 samples=24",
               "who=crowd crowd=1000 mib=300 samples=24"}},
    .run = run,
};
