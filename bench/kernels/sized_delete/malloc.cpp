// SPDX-License-Identifier: Apache-2.0
// A set of blocks of mixed sizes, of which a random one is replaced again and again, by a delete
// that is told the size or by a plain one. Since C++14 compilers emit the sized form, so it should
// not cost more. The set of 5,000 blocks spreads over several slabs, pages or spans of an
// allocator's larger classes, so where the next block lies is a matter of chance; that of 1,000
// smaller blocks does not.
#include <new>
#include <vector>

#include "core_time.hpp"
#include "harness.hpp"

namespace {

struct Block {
  std::uint64_t* words;  // the first one is the mark
  std::uint32_t size;
  std::uint64_t mark;
};

struct Load {
  std::uint32_t blocks;
  std::uint32_t min_size;
  std::uint32_t max_size;
  bool sized;
};

void take(Block& block, const Load& load, std::uint64_t mark) {
  const std::uint32_t sizes = load.max_size - load.min_size + 1;
  block.size = load.min_size + static_cast<std::uint32_t>((mark & 0xffffffff) * sizes >> 32);
  block.words = static_cast<std::uint64_t*>(::operator new(block.size));
  block.words[0] = block.mark = mark;
}

template <bool kSized>
void give_back(const Block& block) {
  bench::check(block.words[0] == block.mark, "a block has changed");
  if constexpr (kSized) {
    ::operator delete(block.words, std::size_t{block.size});
  } else {
    ::operator delete(block.words);
  }
}

template <bool kSized>
std::uint64_t replace_at_random(const Load& load, std::uint64_t seed, std::uint64_t exchanges) {
  bench::Random random(seed);
  std::vector<Block> set(load.blocks);
  for (Block& block : set) take(block, load, random.next());
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < exchanges; ++i) {
    const std::uint64_t drawn = random.next();  // its upper half is the place, its lower the size
    Block& block = set[(drawn >> 32) * load.blocks >> 32];
    give_back<kSized>(block);
    take(block, load, drawn);
    bytes += block.size;
  }
  for (Block& block : set) give_back<kSized>(block);
  return bytes;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t exchanges = arguments.number("exchanges", 100'000);  // of each thread
  const Load load{.blocks = static_cast<std::uint32_t>(arguments.number("blocks", 5000)),
                  .min_size = static_cast<std::uint32_t>(arguments.number("from", 8)),
                  .max_size = static_cast<std::uint32_t>(arguments.number("to", 1000)),
                  .sized = arguments.number("sized", 1) != 0};
  bench::check(load.min_size >= sizeof(std::uint64_t), "a block must hold a mark");
  const unsigned threads = arguments.threads();
  std::vector<std::uint64_t> bytes(threads);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    bytes[thread] = load.sized ? replace_at_random<true>(load, thread + 1, exchanges)
                               : replace_at_random<false>(load, thread + 1, exchanges);
  });
  result.value = bench::core_seconds_each(result.seconds, threads, exchanges * threads) * 1e9;
  for (const std::uint64_t sum : bytes) result.checksum += sum;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "sized_delete",
    .title = "Sized and plain delete",
    .what =
        "Every thread keeps 5,000 blocks of 8 to 1,000 bytes, or 1,000 of 10 to 500, and replaces "
        "a random one by one of another size, with the delete that is told the size or with the "
        "plain one. The figure is core time per exchange: the elapsed time times the threads (or "
        "the cores, if there are fewer), divided by all exchanges.",
    .group = "modern allocator",
    .metric = "processor time of an exchange",
    .unit = "ns",
    .plot = "table",
    .threads = {1, 2},
    .cases = {{"5000 sized", "exchanges=2000000 sized=1", "exchanges=20000000 sized=1",
               "exchanges=100000000 sized=1"},
              {"5000 plain", "exchanges=2000000 sized=0", "exchanges=20000000 sized=0",
               "exchanges=100000000 sized=0"},
              {"1000 sized", "blocks=1000 from=10 to=500 exchanges=2000000 sized=1",
               "blocks=1000 from=10 to=500 exchanges=20000000 sized=1",
               "blocks=1000 from=10 to=500 exchanges=100000000 sized=1"},
              {"1000 plain", "blocks=1000 from=10 to=500 exchanges=2000000 sized=0",
               "blocks=1000 from=10 to=500 exchanges=20000000 sized=0",
               "blocks=1000 from=10 to=500 exchanges=100000000 sized=0"}},
    .run = run,
};
