// SPDX-License-Identifier: Apache-2.0
// What the flow graph does when copying a message or allocating memory fails.
#include <tbb/flow_graph.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace {
std::atomic<long> allocations_left{-1};  // negative: no failure
}  // namespace

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {
bool may_allocate() {
  long left = allocations_left.load();
  while (left >= 0 && !allocations_left.compare_exchange_weak(left, left - 1)) continue;
  return left != 0;
}
}  // namespace

void* operator new(std::size_t size) {
  void* const block = may_allocate() ? std::malloc(size) : nullptr;
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const std::size_t unit = std::size_t(alignment);
  void* const block =
      may_allocate() ? std::aligned_alloc(unit, (size + unit - 1) / unit * unit) : nullptr;
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
constexpr bool kCanFail = true;
#else
constexpr bool kCanFail = false;
#endif

namespace {

using namespace tbb::flow;

struct copy_error : std::runtime_error {
  copy_error() : std::runtime_error("copy") {}
};

// A message that counts its objects and whose copying may fail.
struct fragile {
  static std::atomic<int> objects;
  static std::atomic<int> copies_left;  // negative: no failure
  int value = 0;

  fragile() { ++objects; }
  explicit fragile(int v) : value(v) { ++objects; }
  fragile(const fragile& other) : value(other.value) {
    if (copies_left >= 0 && copies_left-- == 0) throw copy_error();
    ++objects;
  }
  fragile& operator=(const fragile& other) {
    if (copies_left >= 0 && copies_left-- == 0) throw copy_error();
    value = other.value;
    return *this;
  }
  ~fragile() { --objects; }
};
std::atomic<int> fragile::objects{0};
std::atomic<int> fragile::copies_left{-1};

// Some nodes of each kind in a row.
struct line {
  graph g;
  std::atomic<int> ends{0};
  int made = 0;
  input_node<fragile> source{g, [this](tbb::flow_control& control) {
                               if (made == 8) control.stop();
                               return fragile(++made);
                             }};
  function_node<fragile, fragile, rejecting> rejects{g, 1, [](const fragile& f) { return f; }};
  function_node<fragile, fragile> one{g, serial, [](const fragile& f) { return f; }};
  function_node<fragile, fragile> two{g, 2, [](const fragile& f) { return f; }};
  multifunction_node<fragile, std::tuple<fragile>> many{
      g, unlimited,
      [](const fragile& f, multifunction_node<fragile, std::tuple<fragile>>::output_ports_type& p) {
        std::get<0>(p).try_put(f);
      }};
  broadcast_node<fragile> fan{g};
  function_node<fragile> left{g, unlimited, [this](const fragile&) { ++ends; }};
  function_node<fragile> right{g, unlimited, [this](const fragile&) { ++ends; },
                               node_priority_t(2)};

  line() {
    make_edge(source, rejects);
    make_edge(rejects, one);
    make_edge(one, two);
    make_edge(two, many);
    make_edge(many, fan);
    make_edge(fan, left);
    make_edge(fan, right);
  }

  // Returns whether nothing has failed. Either all messages arrive, or an exception comes out.
  bool run() {
    int puts = 0;
    bool failed = false;
    const int before = ends;
    const int made_before = made;
    try {
      source.activate();
      for (; puts < 4; ++puts) one.try_put(fragile(puts));
    } catch (const copy_error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    try {
      g.wait_for_all();
    } catch (const copy_error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) {
      EXPECT_EQ(ends, before + 2 * (puts + made - made_before - (made > 8 ? 1 : 0)));
    }
    return !failed;
  }
};

// Lets the n-th step fail; returns whether nothing has failed. Otherwise the graph is as good as
// new after a reset.
template <typename Arm>
bool fail_at(int n, const Arm& arm) {
  line l;
  arm(n);
  const bool succeeded = l.run();
  arm(-1);
  if (succeeded) return true;
  l.g.reset();
  l.made = 0;
  l.ends = 0;
  l.source.activate();
  for (int i = 0; i < 4; ++i) l.one.try_put(fragile(i));
  l.g.wait_for_all();
  EXPECT_GE(l.ends, 8) << "after failure " << n;
  EXPECT_EQ(l.ends % 2, 0) << "after failure " << n;
  return false;
}

template <typename Arm>
void fail_at_each(const Arm& arm) {
  bool succeeded = false;
  int failures = 0;
  while (!succeeded && failures < 3000) {
    // A new thread has no memory for tasks in its cache.
    std::thread([&] { succeeded = fail_at(failures, arm); }).join();
    if (!succeeded) ++failures;
  }
  EXPECT_TRUE(succeeded);
  // How many steps there are depends on which thread runs what, and on the memory in its cache.
  EXPECT_GT(failures, 0);
  EXPECT_EQ(fragile::objects, 0);
}

TEST(Failures, OfTheCopiesOfMessages) {
  fail_at_each([](int n) { fragile::copies_left = n; });
}

TEST(Failures, OfTheAllocator) {
  if (!kCanFail) GTEST_SKIP();
  fail_at_each([](int n) { allocations_left = n; });
}

}  // namespace
