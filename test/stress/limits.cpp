// SPDX-License-Identifier: Apache-2.0
// The variants in which the heap has limits: they change while all threads allocate, are one byte,
// or are set, lifted and set again; the program is called back when a limit is reached. Nothing may
// hang, no byte may be lost, and refusals must look like malloc's. Once the limits are lifted, all
// requests succeed again and committed memory is given back.
#include <cstdio>
#include <mutex>

#include "run.hpp"

namespace corbel::stress {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

Diet under_limits() {
  Diet diet;
  diet.largest = 2 * kMiB;
  diet.live_limit = 8 * kMiB;
  diet.may_be_refused = true;
  return diet;
}

void lift(const AllocatorUnderTest& functions) {
  functions.on_limit(nullptr, nullptr);
  functions.set_soft_limit(0);
  functions.set_hard_limit(0);
}

// With the limits lifted no request is refused.
void check_all_works(Run& run) {
  Diet diet = under_limits();
  diet.may_be_refused = false;
  in_threads(run.threads, [&](std::size_t i) {
    Worker worker(run.seed_of(1000 + i), diet, *run.mailboxes);
    for (int k = 0; k < 300; ++k) worker.step();
  });
}

// Called when all threads have ended and freed all their blocks.
void check_goes_back(const AllocatorUnderTest& functions, Run& run, std::size_t live_before) {
  Worker emptier(run.seed, under_limits(), *run.mailboxes);
  for (std::size_t slot = 0; slot < Mailboxes::kSlots; ++slot) {
    emptier.finish(run.mailboxes->exchange(slot, nullptr));
  }
  functions.trim();
  Block figures;
  figures.requested = live_before;
  figures.usable = live_bytes_at_rest(functions, live_before);
  if (figures.usable != live_before)
    fail("live bytes not back (asked: before, usable: now)", figures);
  check_footprint_is_back(functions);
}

struct Totals {
  std::atomic<std::size_t> refusals{0};
  // relaxed: a figure for the report
  void add(std::size_t n) { refusals.fetch_add(n, std::memory_order_relaxed); }
  std::size_t sum() const { return refusals.load(std::memory_order_relaxed); }
};

// Runs eight threads at full speed until `go_on` returns false.
template <class GoOn>
void work(Run& run, const Diet& diet, Totals& totals, std::uint64_t round, GoOn go_on) {
  in_threads(run.threads, [&](std::size_t i) {
    Worker worker(run.seed_of(i + round * run.threads), diet, *run.mailboxes);
    while (go_on()) {
      const std::size_t refused_before = worker.refusals();
      for (int k = 0; k < 64; ++k) worker.step();
      count(run, 64);
      totals.add(worker.refusals() - refused_before);
    }
  });
}

std::size_t draw_limit(Random& random, const AllocatorUnderTest& functions) {
  switch (random.below(8)) {
    case 0:
      return 0;
    case 1:
      return 1 + random.below(4096);
    case 2:
      return functions.footprint();
    case 3:
      return functions.footprint() / 2 + random.below(functions.footprint() + 1);
    case 4:
      return random.log_between(kMiB / 16, kMiB);
    default:
      return random.log_between(16 * kMiB, 512 * kMiB);
  }
}

void pause(Random& random) {
  if (random.one_in(3)) std::this_thread::yield();
  if (random.one_in(3)) std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
}

void report(const char* what, const Totals& totals) {
  std::printf("stress: %zu requests refused under %s\n", totals.sum(), what);
}

// Changes limits at random under eight threads. `change` draws the next limit.
template <class Change>
void run_changing(Run& run, const Diet& diet, const char* what, bool refuses, Change change) {
  const AllocatorUnderTest functions = allocator_under_test();
  const std::size_t live_before = functions.live_bytes();
  Totals totals;
  std::thread changes([&] {
    Random random(mix(run.seed));
    while (!run.over()) {
      change(functions, random);
      pause(random);
    }
  });
  work(run, diet, totals, 0, [&] { return !run.over(); });
  changes.join();
  lift(functions);
  report(what, totals);
  if (refuses && totals.sum() == 0) fail("no request was ever refused", Block{});
  check_all_works(run);
  check_goes_back(functions, run, live_before);
}

// ---- what a program may do in the callback ------------------------------------------------------

// Blocks that the callback frees, or that it has allocated.
class Reserve {
 public:
  explicit Reserve(const AllocatorUnderTest& functions) : functions_(functions) {}
  ~Reserve() {
    while (free_one()) {
    }
  }

  bool add(std::size_t size) {
    Block block;
    block.address = static_cast<unsigned char*>(functions_.allocate(size));
    if (block.address == nullptr) return false;
    block.size = size;
    fill(block);
    const std::lock_guard guard(lock_);
    blocks_.push_back(block);
    return true;
  }

  bool free_one() {
    Block block;
    {
      const std::lock_guard guard(lock_);
      if (blocks_.empty()) return false;
      block = blocks_.back();
      blocks_.pop_back();
    }
    const std::size_t wrong = check(block, block.size);
    if (wrong != kAllGood) fail("content of the reserve changed", block, wrong);
    functions_.deallocate(block.address);
    return true;
  }

  const AllocatorUnderTest& functions() const { return functions_; }

  std::atomic<std::uint64_t> calls{0};

 private:
  const AllocatorUnderTest functions_;
  std::mutex lock_;
  std::vector<Block> blocks_;  // on the system's malloc
};

// Per thread: the callback must not be called inside itself.
thread_local bool inside_callback = false;

int reached(void* context, std::size_t size) {
  auto& reserve = *static_cast<Reserve*>(context);
  // relaxed: a number to draw from
  const std::uint64_t call = reserve.calls.fetch_add(1, std::memory_order_relaxed);
  Block asked;
  asked.requested = size;
  if (inside_callback) fail("called back inside the callback", asked);
  if (size > SIZE_MAX / 2) fail("called back with an impossible size", asked);
  inside_callback = true;
  int freed = 0;
  Random random(mix(call));
  const std::size_t kind = random.below(24);
  if (kind < 6) {  // it has nothing to free
    freed = 0;
  } else if (kind < 14) {
    for (std::size_t n = 1 + random.below(8); n > 0; --n) freed |= reserve.free_one();
  } else if (kind < 19) {  // it allocates, little and much
    reserve.add(1 + random.below(300));
    if (reserve.add(kMiB + random.below(4 * kMiB))) freed |= reserve.free_one();
  } else if (kind < 23) {  // it claims to have freed something
    freed = 1;
  } else {  // it frees blocks
    reserve.functions().set_hard_limit(reserve.functions().footprint() + size + 4 * kMiB);
    freed = 1;
  }
  inside_callback = false;
  return freed;
}

}  // namespace

void run_limits(Run& run) {
  run_changing(run, under_limits(), "changing limits", true,
               [](const AllocatorUnderTest& functions, Random& random) {
                 if (random.one_in(2)) {
                   functions.set_soft_limit(draw_limit(random, functions));
                 } else {
                   functions.set_hard_limit(draw_limit(random, functions));
                 }
               });
}

void run_soft_limits(Run& run) {
  Diet diet = under_limits();
  diet.may_be_refused = false;
  run_changing(run, diet, "soft limits", false,
               [](const AllocatorUnderTest& functions, Random& random) {
                 functions.set_soft_limit(draw_limit(random, functions));
               });
}

void run_set_and_lifted(Run& run) {
  run_changing(run, under_limits(), "limits set and lifted", true,
               [](const AllocatorUnderTest& functions, Random& random) {
                 const std::size_t limit = random.one_in(2) ? 1 : functions.footprint();
                 functions.set_hard_limit(limit);
                 functions.set_soft_limit(limit);
                 pause(random);
                 functions.set_hard_limit(0);
                 functions.set_soft_limit(0);
               });
}

// In rounds: no limit; a hard limit of one byte, below the footprint; no limit again.
void run_one_byte(Run& run) {
  const AllocatorUnderTest functions = allocator_under_test();
  const std::size_t live_before = functions.live_bytes();
  const Diet diet = under_limits();
  Totals totals;
  for (std::uint64_t round = 0; round == 0 || !run.over(); ++round) {
    std::atomic<std::size_t> begun{0};
    std::thread one_byte([&] {
      // relaxed: only waits until all threads are at work
      while (begun.load(std::memory_order_relaxed) < run.threads * 4) std::this_thread::yield();
      functions.set_hard_limit(1);
    });
    std::atomic<std::size_t> left{run.threads * 40};
    work(run, diet, totals, round, [&] {
      begun.fetch_add(1, std::memory_order_relaxed);                 // relaxed: as above
      const std::size_t now = left.load(std::memory_order_relaxed);  // relaxed: a share of work
      if (now == 0 || now > SIZE_MAX / 2) return false;
      left.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
      return true;
    });
    one_byte.join();
    functions.trim();  // free committed memory could still serve requests
    Block fresh;
    fresh.requested = 3 * kMiB;
    fresh.address = static_cast<unsigned char*>(functions.allocate(fresh.requested));
    if (fresh.address != nullptr) fail("served beyond a limit of one byte", fresh);
    lift(functions);
    check_all_works(run);
    check_goes_back(functions, run, live_before);
  }
  report("a limit of one byte", totals);
  if (totals.sum() == 0) fail("no request was ever refused", Block{});
}

void run_callbacks(Run& run) {
  const AllocatorUnderTest functions = allocator_under_test();
  const std::size_t live_before = functions.live_bytes();
  {
    Reserve reserve(functions);
    for (int i = 0; i < 200; ++i) reserve.add(1000 + std::size_t(i) * 1000);
    functions.on_limit(reached, &reserve);
    Totals totals;
    // relaxed: only whether there was a call
    const auto called = [&] { return reserve.calls.load(std::memory_order_relaxed) != 0; };
    // Where threads get little of the processors, a limit may not have been reached by then.
    const auto goes_on = [&] {
      return !run.over() ||
             (!called() && totals.sum() == 0 && Clock::now() < run.end + std::chrono::seconds(60));
    };
    std::thread changes([&] {
      Random random(mix(run.seed));
      while (goes_on()) {
        functions.set_hard_limit(random.log_between(4 * kMiB, 64 * kMiB));
        if (random.one_in(4)) functions.set_soft_limit(draw_limit(random, functions));
        // Not before the first call: until then no request may be refused without one.
        if (called() && random.one_in(16)) functions.on_limit(nullptr, nullptr);
        pause(random);
        functions.on_limit(reached, &reserve);
        for (std::size_t n = random.below(20); n > 0; --n)
          reserve.add(20000 + random.below(100000));
      }
    });
    work(run, under_limits(), totals, 0, goes_on);
    changes.join();
    lift(functions);
    // relaxed: all threads are joined
    std::printf("stress: called back %llu times\n",
                static_cast<unsigned long long>(reserve.calls.load(std::memory_order_relaxed)));
    if (!called()) fail("never called back", Block{});
    report("limits with a callback", totals);
  }
  check_all_works(run);
  check_goes_back(functions, run, live_before);
}

}  // namespace corbel::stress
