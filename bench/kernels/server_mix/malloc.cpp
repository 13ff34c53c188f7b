// SPDX-License-Identifier: Apache-2.0
// A server's heap: its block sizes change over the day, and each block lives as long as its
// request. Lifetimes are exponential, and a few are a hundred times longer. Time is counted in
// blocks.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "harness.hpp"
#include "marks.hpp"
#include "sizes.hpp"

namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned kPhases = 8;
// The largest ordinary block of each phase: messages, then documents, then messages again, ...
constexpr std::size_t kLargest[kPhases] = {256, 2048, 512, 16384, 128, 4096, 1024, 8192};
constexpr unsigned kLongLivedIn = 128;  // one block in this many
constexpr unsigned kLonger = 100;
constexpr std::uint64_t kTick = 16;  // blocks allocated between two turns of the wheel

struct Block {
  Block* next;
  std::uint32_t size;
  std::uint32_t mark;
};

// Exponential lifetimes with mean one, as 1,024 quantiles, so that log() is not timed.
std::vector<float> quantiles() {
  std::vector<float> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(values.size());
    values[i] = static_cast<float>(-std::log(1 - share));
  }
  return values;
}

// The state of one thread, on its own cache lines, also on processors that fetch lines in pairs.
class alignas(128) Server {
 public:
  Server(std::uint64_t seed, std::uint64_t steps, std::uint64_t live)
      : random_(seed), steps_(steps), live_(live), due_(live * kLonger * 8 / kTick + 1) {}

  void run(const std::vector<float>& lifetimes) {
    const std::uint64_t slots = due_.size();
    for (std::uint64_t step = 0; step < steps_; ++step) {
      if (step % kTick == 0) free_chain(due_[step / kTick % slots]);
      const std::size_t size = next_size(step);
      // The remainder is only a safeguard: no quantile is longer than the wheel.
      const std::uint64_t long_lived = random_.below(kLongLivedIn) == 0 ? kLonger : 1;
      const double life = static_cast<double>(lifetimes[random_.below(1024)]) *
                          static_cast<double>(live_ * long_lived);
      const std::uint64_t ticks = 1 + static_cast<std::uint64_t>(life) / kTick;
      const std::uint64_t end = step / kTick + ticks % (slots - 1);
      add(due_[end % slots], size);
    }
    for (Block*& chain : due_) free_chain(chain);
    bench::check(live_bytes_ == 0, "blocks are left");
  }

  std::uint64_t sum() const { return sum_; }
  std::size_t most_live() const { return most_live_; }

 private:
  std::size_t next_size(std::uint64_t step) {
    const std::size_t largest = kLargest[step * kPhases / steps_];
    if (random_.below(512) == 0) return bench::doubling_size(random_, 16384, 131072);
    return sizeof(Block) + bench::doubling_size(random_, 8, largest);
  }

  void add(Block*& chain, std::size_t size) {
    auto* block = static_cast<Block*>(std::malloc(size));
    bench::check(block != nullptr, "malloc gave NULL");
    const auto mark = static_cast<std::uint32_t>(random_.next());
    *block = {chain, static_cast<std::uint32_t>(size), mark};
    for (std::size_t i = kPage; i < size; i += kPage) last_byte(block, i) = 1;
    last_byte(block, size) = static_cast<unsigned char>(mark);
    chain = block;
    live_bytes_ += size;
    most_live_ = std::max(most_live_, live_bytes_);
  }

  void free_chain(Block*& chain) {
    while (chain) {
      Block* block = chain;
      const std::size_t size = block->size;
      bench::check(size <= live_bytes_, "a block has changed");
      bench::check(last_byte(block, size) == static_cast<unsigned char>(block->mark),
                   "a block has changed");
      sum_ += block->mark ^ size;
      live_bytes_ -= size;
      chain = block->next;
      std::free(block);
    }
  }

  static unsigned char& last_byte(Block* block, std::size_t size) {
    return reinterpret_cast<unsigned char*>(block)[size - 1];
  }

  bench::Random random_;
  std::uint64_t steps_;
  std::uint64_t live_;
  std::vector<Block*> due_;  // a timing wheel (Varghese and Lauck, 1987)
  std::uint64_t sum_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t most_live_ = 0;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t steps = arguments.number("steps", 100'000);  // of all threads together
  const std::uint64_t live = arguments.number("live", 1000);       // mean lifetime, likewise
  const unsigned threads = arguments.threads();
  const std::vector<float> lifetimes = quantiles();
  std::vector<std::unique_ptr<Server>> servers;
  for (unsigned i = 0; i < threads; ++i) {
    servers.push_back(std::make_unique<Server>(i + 1, steps / threads, live / threads));
  }
  result.seconds = bench::in_threads(threads, [&](unsigned i) { servers[i]->run(lifetimes); });
  result.value = result.seconds;
  double most_live = 0;
  for (const auto& server : servers) {
    result.checksum += server->sum();
    most_live += static_cast<double>(server->most_live()) / (1 << 20);
  }
  result.extra["live at most MiB"] = most_live;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "server_mix",
    .title = "A server's day",
    .what =
        "Blocks with random lifetimes, whose sizes change in eight phases from messages of a "
        "hundred bytes to documents of 16 KiB and back; one in 512 is a buffer of up to 128 KiB. "
        "The number of blocks is the same for any number of threads; peak memory shows how well "
        "pages are reused for other sizes.",
    .group = "modern allocator",
    .plot = "table",
    .threads = {1, 2, 4},
    .cases = {{"", "steps=1000000 live=5000", "steps=5000000 live=16000",
               "steps=30000000 live=40000"}},
    .run = run,
};
