// SPDX-License-Identifier: Apache-2.0
// A reconstruction of the MTS demo of Figure 12 of "The Foundations for Scalable Multi-Core
// Software in Intel Threading Building Blocks" (Intel Technology Journal 11-4, 2007). The original
// is closed; the paper says that it mimics applications "by requesting few large objects, more
// medium-size objects, and significantly more small objects", and that it measures elapsed time.
// Assumptions:
//
//   - of 1,000 requests, 2 are large (32 to 256 KiB), 48 medium (1 to 16 KiB), 950 small (8 to 512
//     bytes);
//   - every thread keeps a working set (4,000 small, 400 medium, 8 large: about 5 MiB) and replaces
//     a random member of it each time; it frees only its own objects;
//   - it writes both ends of each object and one byte of every page between them, and reads the
//   ends
//     again before it frees the object;
//   - the number of requests is fixed and divided among the threads, so that the line of an
//     allocator that scales falls up to the number of cores and is flat from there on.
#include <cstdlib>
#include <vector>

#include "marks.hpp"

namespace {

constexpr std::size_t kPage = 4096;

struct Kind {
  std::uint32_t per_thousand;
  std::uint32_t members;
  std::uint32_t smallest;
  std::uint32_t largest;
};
constexpr Kind kKinds[] = {{950, 4000, 8, 512}, {48, 400, 1024, 16384}, {2, 8, 32768, 262144}};

struct Object {
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t mark = 0;
};

// On cache lines, and pairs of lines that are fetched together, of its own.
class alignas(128) WorkingSet {
 public:
  explicit WorkingSet(unsigned thread) : random_(thread + 1) {
    for (const Kind& kind : kKinds) members_.emplace_back(kind.members);
  }

  void request() {
    const std::size_t i = draw_kind();
    const Kind& kind = kKinds[i];
    Object& object = members_[i][random_.below(kind.members)];
    drop(object);
    object.size = kind.smallest + random_.below(kind.largest - kind.smallest + 1);
    object.mark = random_.next();
    object.bytes = static_cast<unsigned char*>(std::malloc(object.size));
    bench::check(object.bytes != nullptr, "malloc gave NULL");
    for (std::size_t at = 0; at < object.size; at += kPage) object.bytes[at] = 1;
    bench::put_mark(object.bytes, object.size, object.mark);
  }

  void drop_all() {
    for (std::vector<Object>& kind : members_) {
      for (Object& object : kind) drop(object);
    }
  }

  std::uint64_t bytes_freed() const { return bytes_freed_; }

 private:
  std::size_t draw_kind() {
    const std::uint32_t drawn = random_.below(1000);
    if (drawn < kKinds[0].per_thousand) return 0;
    return drawn < kKinds[0].per_thousand + kKinds[1].per_thousand ? 1 : 2;
  }

  void drop(Object& object) {
    if (object.bytes == nullptr) return;
    bench::check(bench::has_mark(object.bytes, object.size, object.mark),
                 "an object was overwritten");
    bytes_freed_ += object.size;
    std::free(object.bytes);
    object.bytes = nullptr;
  }

  bench::Random random_;
  std::vector<std::vector<Object>> members_;
  std::uint64_t bytes_freed_ = 0;
};

void run(bench::Arguments& arguments, bench::Result& result) {
  const std::uint64_t requests = arguments.number("requests", 50'000);
  const unsigned threads = arguments.threads();
  // The program's own data about the sets is allocated before the clock starts.
  std::vector<WorkingSet> sets;
  sets.reserve(threads);
  for (unsigned thread = 0; thread < threads; ++thread) sets.emplace_back(thread);
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    WorkingSet& set = sets[thread];
    const std::uint64_t end = requests * (thread + 1) / threads;
    for (std::uint64_t i = requests * thread / threads; i < end; ++i) set.request();
    set.drop_all();
  });
  result.value = result.seconds;
  for (const WorkingSet& set : sets) result.checksum += set.bytes_freed();
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "mts",
    .title = "Few large, many small objects (after the MTS demo)",
    .what =
        "All threads together make a fixed number of requests for few large, more medium and "
        "many small objects, each of which replaces one of a working set. The original program "
        "is closed: this is a reconstruction from its description, with assumed sizes and "
        "proportions.",
    .group = "seed allocator",
    .figure = "Figure 12",
    .metric = "elapsed time",
    .plot = "lines",
    .threads = {1, 2, 4, 8},
    .cases = {{"", "requests=400000", "requests=3000000", "requests=20000000"}},
    .run = run,
};
