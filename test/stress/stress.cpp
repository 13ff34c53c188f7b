// SPDX-License-Identifier: Apache-2.0
// The randomized stress test of an allocator. Usage: stress_<allocator> VARIANT
//
// CORBEL_STRESS_SECONDS is the duration (10; 4 with limits), CORBEL_STRESS_SEED repeats the draws
// of a run, and CORBEL_STRESS_THREADS is the number of threads (4; 8). The last line of output is
// "stress: passed" or "stress: FAILED: ...".
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "run.hpp"

namespace corbel::stress {
namespace {

// Every thread runs all operations.
void mixed(Run& run, const Diet& diet) {
  in_threads(run.threads, [&](std::size_t i) {
    Worker worker(run.seed_of(i), diet, *run.mailboxes);
    step_until_over(run, worker);
  });
}

void run_mixed(Run& run) { mixed(run, Diet{}); }

void run_alone(Run& run) {
  Worker worker(run.seed, Diet{}, *run.mailboxes);
  step_until_over(run, worker);
}

void run_small(Run& run) {
  Diet diet;
  diet.largest_small = 256;
  diet.largest = 4096;
  diet.live_limit = 4U << 20;
  mixed(run, diet);
}

void run_large(Run& run) {
  Diet diet;
  diet.largest_small = 64U << 10;
  diet.largest = 12U << 20;
  diet.tail_one_in = 4;
  diet.reallocs_in_100 = 30;
  diet.live_limit = 128U << 20;
  diet.gigantic_alignments = true;
  mixed(run, diet);
}

void run_trim(Run& run) {
  Diet diet;
  diet.trims = true;
  mixed(run, diet);
}

// Half of the threads allocate blocks, the others check and free them.
void run_producers(Run& run) {
  std::atomic<std::size_t> producing{(run.threads + 1) / 2};
  in_threads(run.threads, [&](std::size_t i) {
    Worker worker(run.seed_of(i), Diet{}, *run.mailboxes);
    std::uint64_t steps = 0;
    if (i % 2 == 0) {
      for (; !run.over(); ++steps) {
        Block* const back = run.mailboxes->exchange(worker.random().next(), worker.make());
        if (back != nullptr) worker.hold(back);
      }
      // relaxed: the mailboxes pass the blocks on
      producing.fetch_sub(1, std::memory_order_relaxed);
    } else {
      for (; producing.load(std::memory_order_relaxed) > 0; ++steps) {  // relaxed: as above
        Block* const block = run.mailboxes->exchange(steps, nullptr);
        if (block != nullptr) worker.finish(block);
      }
    }
    count(run, steps);
  });
}

// One thread frees the blocks that all others allocate.
void run_one_frees(Run& run) {
  std::atomic<std::size_t> producing{run.threads - 1};
  in_threads(run.threads, [&](std::size_t i) {
    Worker worker(run.seed_of(i), Diet{}, *run.mailboxes);
    std::uint64_t steps = 0;
    if (i > 0) {
      for (; !run.over(); ++steps) {
        Block* back = run.mailboxes->exchange(worker.random().next(), worker.make());
        // A block that comes back goes into the next free slot: only the one thread frees.
        while (back != nullptr && !run.over()) {
          std::this_thread::yield();
          back = run.mailboxes->exchange(worker.random().next(), back);
        }
        if (back != nullptr) worker.hold(back);
      }
      producing.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as in run_producers
    } else {
      for (; producing.load(std::memory_order_relaxed) > 0; ++steps) {  // relaxed: as above
        Block* const block = run.mailboxes->exchange(steps, nullptr);
        if (block != nullptr) worker.finish(block);
      }
    }
    count(run, steps);
  });
}

// In rounds, each thread frees all blocks of its neighbour, which has ended by then.
void run_swap_all(Run& run) {
  for (std::uint64_t round = 0; !run.over(); ++round) {
    std::vector<std::vector<Block*>> made(run.threads);
    in_threads(run.threads, [&](std::size_t i) {
      Worker worker(run.seed_of(i + round * run.threads), Diet{}, *run.mailboxes);
      const std::size_t n = 1 + worker.random().below(3000);
      for (std::size_t k = 0; k < n; ++k) made[i].push_back(worker.make());
      count(run, n);
    });
    in_threads(run.threads, [&](std::size_t i) {
      Worker worker(run.seed_of(i), Diet{}, *run.mailboxes);
      for (Block* block : made[(i + 1) % run.threads]) worker.finish(block);
    });
  }
}

// Threads that live for a few hundred operations and leave blocks to others.
void churn(Run& run, const Diet& diet) {
  std::atomic<std::uint64_t> threads_started{0};
  in_threads(run.threads, [&](std::size_t) {
    while (!run.over()) {
      std::thread([&] {
        // relaxed: only makes the seeds differ
        const std::uint64_t id = threads_started.fetch_add(1, std::memory_order_relaxed);
        Worker worker(run.seed_of(id), diet, *run.mailboxes);
        const std::size_t steps = worker.random().below(400);
        for (std::size_t k = 0; k < steps; ++k) worker.step();
        for (int k = 0; k < 8; ++k) worker.swap_with_mailbox();
        count(run, steps);
      }).join();
    }
  });
}

void run_churn(Run& run) { churn(run, Diet{}); }

// Threads start and end while others give memory back.
void run_trim_churn(Run& run) {
  Diet diet;
  diet.trims = true;
  churn(run, diet);
}

struct Variant {
  const char* name;
  void (*body)(Run&);
  double seconds = 10;
  std::size_t threads = 4;
};

constexpr Variant kVariants[] = {
    {"mixed", run_mixed},
    {"alone", run_alone},
    {"small", run_small},
    {"large", run_large},
    {"trim", run_trim},
    {"producers", run_producers},
    {"one-frees", run_one_frees},
    {"swap-all", run_swap_all},
    {"churn", run_churn},
    {"trim-churn", run_trim_churn},
    {"limits", run_limits, 4, 8},
    {"soft-limits", run_soft_limits, 4, 8},
    {"one-byte", run_one_byte, 4, 8},
    {"set-and-lifted", run_set_and_lifted, 4, 8},
    {"callbacks", run_callbacks, 4, 8},
    {"growing-above", run_growing_above, 4, 4},
    {"growing-below", run_growing_below, 4, 4},
    {"growing-hard", run_growing_hard, 4, 4},
};

double number_from(const char* variable, double fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtod(text, nullptr);
}

std::uint64_t choose_seed() {
  const char* text = std::getenv("CORBEL_STRESS_SEED");
  return text == nullptr ? std::random_device{}() : std::strtoull(text, nullptr, 10);
}

void empty_mailboxes(Run& run) {
  Worker worker(run.seed, Diet{}, *run.mailboxes);
  for (std::size_t slot = 0; slot < Mailboxes::kSlots; ++slot) {
    Block* const block = run.mailboxes->exchange(slot, nullptr);
    if (block != nullptr) worker.finish(block);
  }
}

int run_variant(const Variant& variant) {
  const AllocatorUnderTest functions = allocator_under_test();
  Run run;
  run.seed = choose_seed();
  run.threads = std::size_t(number_from("CORBEL_STRESS_THREADS", double(variant.threads)));
  if (run.threads < 2) run.threads = 2;
  const double seconds = number_from("CORBEL_STRESS_SECONDS", variant.seconds);
  std::printf("stress: %s of %s, %zu threads, %.0f s, CORBEL_STRESS_SEED=%llu\n", variant.name,
              functions.name, run.threads, seconds, static_cast<unsigned long long>(run.seed));
  std::fflush(stdout);
  note_run(variant.name, run.seed);
  const std::size_t live_before = functions.live_bytes ? functions.live_bytes() : 0;
  run.end = Clock::now() + std::chrono::milliseconds(std::int64_t(seconds * 1000));
  variant.body(run);
  empty_mailboxes(run);
  if (functions.live_bytes != nullptr) {
    Block leak;
    leak.requested = live_before;
    // receives what other threads sent to this thread
    if (functions.trim != nullptr) functions.trim();
    leak.usable = live_bytes_at_rest(functions, live_before);
    if (leak.usable != live_before) fail("live bytes not back (asked: before, usable: now)", leak);
  }
  std::printf("stress: passed %s, %llu steps\n", variant.name,
              // relaxed: all threads are joined
              static_cast<unsigned long long>(run.steps.load(std::memory_order_relaxed)));
  return 0;
}

}  // namespace
}  // namespace corbel::stress

int main(int argc, char** argv) {
  for (const auto& variant : corbel::stress::kVariants) {
    if (argc == 2 && std::strcmp(argv[1], variant.name) == 0) {
      return corbel::stress::run_variant(variant);
    }
  }
  std::fprintf(stderr, "usage: %s VARIANT; variants:", argv[0]);
  for (const auto& variant : corbel::stress::kVariants) std::fprintf(stderr, " %s", variant.name);
  std::fprintf(stderr, "\n");
  return 2;
}
