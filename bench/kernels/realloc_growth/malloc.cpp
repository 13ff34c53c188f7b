// SPDX-License-Identifier: Apache-2.0
// Arrays that repeatedly grow by half, several at a time, so that none has free space after it for
// long. The time depends on whether realloc copies, grows in place or moves pages.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include "harness.hpp"
#include "marks.hpp"

namespace {

constexpr std::size_t kFirst = 1024;

constexpr unsigned kSamples = 16;

// Words that hold their own position. One in each 64 bytes is enough to reveal a wrong copy.
constexpr std::size_t kSpacing = 64;

class Array {
 public:
  explicit Array(std::uint64_t number) : random_(number), number_(number) {}
  ~Array() { std::free(words_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  bool grow(std::size_t largest) {
    if (size_ == largest) return false;
    std::size_t next = size_ == 0 ? kFirst : size_ + size_ / 2;
    next = std::min(next / kSpacing * kSpacing, largest);
    auto* moved = static_cast<char*>(std::realloc(words_, next));
    bench::check(moved != nullptr, "realloc gave NULL");
    words_ = moved;
    for (unsigned i = 0; i < kSamples && size_ > 0; ++i) {
      const auto cells = static_cast<std::uint32_t>(size_ / kSpacing);
      check_cell(random_.below(cells) * kSpacing);
    }
    if (size_ > 0) check_cell(size_ - kSpacing);
    for (std::size_t at = size_; at < next; at += kSpacing) {
      bench::put_mark(words_ + at, kSpacing, mark(at));
    }
    size_ = next;
    return true;
  }

  std::uint64_t check_all() const {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < size_; at += kSpacing) {
      check_cell(at);
      sum += mark(at);
    }
    return sum;
  }

 private:
  std::uint64_t mark(std::size_t at) const { return (number_ + at) * 0x9E3779B97F4A7C15u; }
  void check_cell(std::size_t at) const {
    bench::check(bench::has_mark(words_ + at, kSpacing, mark(at)), "the contents have changed");
  }

  bench::Random random_;
  std::uint64_t number_;
  char* words_ = nullptr;
  std::size_t size_ = 0;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::size_t largest = arguments.number("mib", 1) << 20U;
  const std::uint64_t arrays = arguments.number("arrays", 4);
  const std::uint64_t rounds = arguments.number("rounds", 1);
  // One thread's work; each thread does all of it.
  std::vector<std::uint64_t> sums(arguments.threads());
  result.seconds = bench::in_threads(arguments.threads(), [&](unsigned thread) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::vector<std::unique_ptr<Array>> growing;
      for (std::uint64_t i = 0; i < arrays; ++i) growing.push_back(std::make_unique<Array>(i + 1));
      bool grew = true;
      while (grew) {
        grew = false;
        for (const auto& array : growing) grew |= array->grow(largest);
      }
      for (const auto& array : growing) sums[thread] += array->check_all();
    }
  });
  result.value = result.seconds;
  for (const std::uint64_t sum : sums) result.checksum += sum;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "realloc_growth",
    .title = "Growth by realloc",
    .what =
        "Several arrays grow from 1 KiB by half at each step, in turn, and their contents are "
        "checked. The large ones reach 256 MiB each in a full run and show which allocators move "
        "pages instead of bytes; the others end at 1 MiB and are allocated many times.",
    .group = "modern allocator",
    .plot = "table",
    .cases = {{"large", "mib=16 arrays=3", "mib=64 arrays=3", "mib=256 arrays=4"},
              {"1 MiB", "mib=1 arrays=8 rounds=4", "mib=1 arrays=8 rounds=40",
               "mib=1 arrays=8 rounds=400"}},
    .run = run,
};
