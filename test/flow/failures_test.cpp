// SPDX-License-Identifier: Apache-2.0
// What the flow graph does when copying a message or allocating memory fails.
#include <tbb/flow_graph.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace {
std::atomic<long> allocations_left{-1};  // negative: no failure
std::atomic<bool> fails_once{false};     // otherwise, until it is told to stop
}  // namespace

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {
bool may_allocate() {
  long left = allocations_left.load();
  long next = left;
  do {
    next = left > 0 || fails_once ? left - 1 : left;
  } while (left >= 0 && !allocations_left.compare_exchange_weak(left, next));
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

void arm(int n) { allocations_left = n; }

// Holds the blocks that the library has kept for later, so that it asks for memory again.
class no_spare_blocks {
 public:
  no_spare_blocks() {
    if (!kCanFail) return;
    const bool once = fails_once.exchange(false);
    arm(0);
    for (std::size_t bytes = 64; bytes <= 1024; bytes += 64) {
      try {
        for (;;) {
          held_ = ::new (corbel::detail::allocate_block(bytes)) block{held_, bytes};
        }
      } catch (const std::bad_alloc&) {
      }
    }
    arm(-1);
    fails_once = once;
  }
  ~no_spare_blocks() {
    while (block* const b = held_) {
      held_ = b->next;
      corbel::detail::deallocate_block(b, b->bytes);
    }
  }
  no_spare_blocks(const no_spare_blocks&) = delete;
  no_spare_blocks& operator=(const no_spare_blocks&) = delete;

 private:
  struct block {
    block* next;
    std::size_t bytes;
  };
  block* held_ = nullptr;
};

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
  const no_spare_blocks held;
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
  const no_spare_blocks held;  // leaves few to those of the single runs
  for (const bool once : {true, false}) {
    fails_once = once;
    fail_at_each(arm);
  }
}

// ---- one kind of node at a time -----------------------------------------------------------------

// A node of the kind under test between the puts and `end`, which counts what comes.
struct part {
  static constexpr int kMessages = 40;
  graph g;
  std::atomic<int> ends[kMessages];
  function_node<fragile> end{g, serial, [this](const fragile& f) { ++ends[f.value]; }};
  part() { clear(); }
  virtual ~part() = default;
  // Returns false if the message is rejected.
  virtual bool put(int i) = 0;
  void clear() {
    for (auto& e : ends) e = 0;
  }
};

template <typename Node>
struct node_part : part {
  Node node;
  template <typename... Arguments>
  explicit node_part(Arguments... arguments) : node(g, arguments...) {
    connect(node);
  }
  template <typename T>
  void connect(sender<T>& from) {
    make_edge(from, end);
  }
  bool put(int i) override { return node.try_put(fragile(i)); }
};
struct less {
  bool operator()(const fragile& a, const fragile& b) const { return a.value < b.value; }
};
struct number {
  std::size_t operator()(const fragile& f) const { return std::size_t(f.value); }
};
struct same {
  fragile operator()(const fragile& f) const { return f; }
};

struct rejecting_part : node_part<queue_node<fragile>> {
  function_node<fragile, fragile, rejecting> rejects{g, 1, same()};
  rejecting_part() {
    remove_edge(node, end);
    make_edge(node, rejects);
    make_edge(rejects, end);
  }
};
struct limiter_part : node_part<queue_node<fragile>> {
  limiter_node<fragile> limiter{g, 1};
  using worker = multifunction_node<fragile, std::tuple<fragile, continue_msg>>;
  worker work{g, unlimited, [](const fragile& f, worker::output_ports_type& ports) {
                std::get<0>(ports).try_put(f);
                std::get<1>(ports).try_put(continue_msg());
              }};
  limiter_part() {
    remove_edge(node, end);
    make_edge(node, limiter);
    make_edge(limiter, work);
    make_edge(output_port<0>(work), end);
    make_edge(output_port<1>(work), limiter.decrementer());
  }
};
using pair = std::tuple<fragile, fragile>;
// Retries the second half of a pair by itself.
template <typename Node>
struct join_part : part {
  Node node;
  function_node<pair, fragile> first{g, unlimited, [](const pair& p) { return std::get<0>(p); }};
  bool has_first = false;
  template <typename... Arguments>
  explicit join_part(Arguments... arguments) : node(g, arguments...) {
    make_edge(node, first);
    make_edge(first, end);
  }
  bool put(int i) override {
    if (!has_first) input_port<0>(node).try_put(fragile(i));
    has_first = true;
    input_port<1>(node).try_put(fragile(i));
    has_first = false;
    return true;
  }
};
struct reserving_part : part {
  queue_node<fragile> left{g};
  priority_queue_node<fragile, less> right{g};
  join_node<pair, reserving> node{g};
  function_node<pair, fragile> first{g, unlimited, [](const pair& p) { return std::get<0>(p); }};
  bool has_first = false;
  reserving_part() {
    make_edge(left, input_port<0>(node));
    make_edge(right, input_port<1>(node));
    make_edge(node, first);
    make_edge(first, end);
  }
  bool put(int i) override {
    if (!has_first) left.try_put(fragile(i));
    has_first = true;
    right.try_put(fragile(i));
    has_first = false;
    return true;
  }
};
struct split_part : part {
  split_node<std::tuple<fragile>> split{g};
  indexer_node<fragile> indexer{g};
  using tagged = indexer_node<fragile>::output_type;
  function_node<tagged, fragile> first{g, 2, [](const tagged& t) { return t.cast_to<fragile>(); }};
  split_part() {
    make_edge(output_port<0>(split), input_port<0>(indexer));
    make_edge(indexer, first);
    make_edge(first, end);
  }
  bool put(int i) override { return split.try_put(std::tuple<fragile>(fragile(i))); }
};
struct async_part : part {
  using async = async_node<fragile, fragile>;
  async node{g, 1, [](const fragile& f, async::gateway_type& gateway) { gateway.try_put(f); }};
  async_part() { make_edge(output_port<0>(node), end); }
  bool put(int i) override { return node.try_put(fragile(i)); }
};

// Lets allocation number n fail. A put that throws has not been accepted, and is repeated with
// memory. Then each message comes out once, unless the wait says that the graph has failed; after a
// reset each does. Returns whether nothing has failed.
template <typename Part>
bool part_fails_at(int n, bool from_outside) {
  std::unique_ptr<Part> p;
  tbb::task_arena arena(2);
  if (from_outside) {
    arena.execute([&] { p.reset(new Part); });
  } else {
    p.reset(new Part);
  }
  bool failed = false, cancelled = false;
  const auto wait = [&] {
    try {
      p->g.wait_for_all();
    } catch (const std::bad_alloc&) {
      failed = true;
      cancelled = cancelled || p->g.exception_thrown();
    }
  };
  const auto run = [&] {
    for (int i = 0; i < part::kMessages; ++i) {
      try {
        p->put(i);
      } catch (const std::bad_alloc&) {
        failed = true;
        arm(-1);
        p->put(i);
      }
    }
    wait();
    arm(-1);
    wait();  // the first one may not have had the memory to wait
  };
  const auto expect_all = [&] {
    for (int i = 0; i < part::kMessages; ++i) EXPECT_EQ(p->ends[i], 1) << i << " after " << n;
  };
  const no_spare_blocks held;
  arm(n);
  run();
  if (!cancelled) expect_all();
  p->g.reset();
  p->clear();
  const bool has_failed = failed;
  run();
  expect_all();
  return !has_failed;
}

template <typename Part>
void part_fails_at_each(const char* what) {
  SCOPED_TRACE(what);
  for (const bool once : {true, false}) {
    fails_once = once;
    // Some allocations are made in certain runs only, so a run without failure does not end this.
    for (const bool from_outside : {false, true}) {
      for (int n = 0, succeeded = 0; succeeded < 5; ++n) {
        std::thread([&] { succeeded += part_fails_at<Part>(n, from_outside) ? 1 : 0; }).join();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(fragile::objects, 0);
}

template <typename Node, typename... Arguments>
struct plain_part : node_part<Node> {
  plain_part() : node_part<Node>(Arguments()...) {}
};

TEST(Failures, OfTheAllocatorLoseNoMessageOfAnyKindOfNode) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  part_fails_at_each<plain_part<queue_node<fragile>>>("queue");
  part_fails_at_each<plain_part<buffer_node<fragile>>>("buffer");
  part_fails_at_each<plain_part<priority_queue_node<fragile, less>>>("priority queue");
  part_fails_at_each<plain_part<sequencer_node<fragile>, number>>("sequencer");
  part_fails_at_each<rejecting_part>("rejecting");
  part_fails_at_each<limiter_part>("limiter");
  part_fails_at_each<join_part<join_node<pair>>>("join");
  using keyed = join_node<pair, key_matching<std::size_t>>;
  struct keyed_part : join_part<keyed> {
    keyed_part() : join_part<keyed>(number(), number()) {}
  };
  part_fails_at_each<keyed_part>("key matching");
  part_fails_at_each<reserving_part>("reserving");
  part_fails_at_each<split_part>("split and indexer");
  part_fails_at_each<async_part>("async");
}

// ---- a reservation that ends while an exception is on its way -----------------------------------

// Takes the memory away from what follows, and throws.
template <typename T>
struct greedy : receiver<T> {
  graph& g;
  bool fails = false;
  std::unique_ptr<no_spare_blocks> held;
  explicit greedy(graph& of) : g(of) {}
  graph_task* try_put_task(const T&) override {
    if (fails) {
      held.reset(new no_spare_blocks);
      arm(0);
      throw 7;
    }
    return corbel::detail::successfully_enqueued();
  }
  graph& graph_reference() const override { return g; }
};

// A node that makes messages has one reserved when the successor of the node that reserves throws.
// It has other successors, so it starts its task again, for which there is no memory.
template <typename T, typename Connect>
void expect_first_error(const Connect& connect) {
  std::thread([&] {
    tbb::task_arena(1).execute([&] {
      graph g;
      int made = 0;
      input_node<int> source(g, [&](tbb::flow_control&) { return ++made; });
      struct rejecter : receiver<int> {
        graph& g;
        explicit rejecter(graph& of) : g(of) {}
        graph_task* try_put_task(const int&) override { return nullptr; }
        graph& graph_reference() const override { return g; }
      } other(g);
      make_edge(source, other);
      greedy<T> end(g);
      connect(g, source, end);
      arm(-1);
      end.held.reset();
      EXPECT_TRUE(g.exception_thrown());
    });
  }).join();
}

TEST(Failures, OfTheAllocatorAfterAnotherOne) {
  if (!kCanFail) GTEST_SKIP();
  fails_once = true;
  expect_first_error<int>([](graph& g, input_node<int>& source, greedy<int>& end) {
    limiter_node<int> limiter(g, 1);
    make_edge(source, limiter);
    make_edge(limiter, end);
    source.activate();
    g.wait_for_all();
    end.fails = true;
    limiter.decrementer().try_put(continue_msg());
    EXPECT_THROW(g.wait_for_all(), int);
    EXPECT_LT(allocations_left, 0);
  });
  using single = std::tuple<int>;
  expect_first_error<single>([](graph& g, input_node<int>& source, greedy<single>& end) {
    join_node<single, reserving> join(g);
    make_edge(source, input_port<0>(join));
    make_edge(join, end);
    end.fails = true;
    source.activate();
    EXPECT_THROW(g.wait_for_all(), int);
    EXPECT_LT(allocations_left, 0);
  });
}

// ---- a pull that starts under the lock of a sender
// ------------------------------------------------

struct one_message : sender<int> {
  std::atomic<int> left{1}, edges{0};
  bool try_get(int& message) override {
    if (left == 0) return false;
    message = 7;
    --left;
    return true;
  }
  bool register_successor(receiver<int>&) override {
    ++edges;
    return true;
  }
  bool remove_successor(receiver<int>&) override { return false; }
};

// Without memory for the task the graph fails, but the edge stays: the node pulls later.
TEST(Failures, OfTheAllocatorWhenAPullStarts) {
  if (!kCanFail) GTEST_SKIP();
  const no_spare_blocks held;  // leaves few to those of the single runs
  fails_once = false;
  int failures = 0, refused = 0;
  for (int n = 0; n < 8; ++n) {
    std::thread([&] {
      one_message from;
      graph g;
      std::atomic<int> sum{0};
      function_node<int, continue_msg, rejecting> node(g, 1, [&](int i) { sum += i; });
      bool is_registered = true;
      const no_spare_blocks held;
      arm(n);
      try {
        static_cast<receiver<int>&>(node).register_predecessor(from);
      } catch (const std::bad_alloc&) {
        is_registered = false;
        ++refused;
      }
      arm(-1);
      try {
        g.wait_for_all();
      } catch (const std::bad_alloc&) {
        ++failures;
        EXPECT_EQ(from.left, 1);
      }
      EXPECT_TRUE(node.try_put(1));
      g.wait_for_all();
      EXPECT_EQ(sum, is_registered ? 8 : 1) << n;
      EXPECT_EQ(from.edges, is_registered ? 1 : 0) << n;
    }).join();
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(failures, 0);
}

}  // namespace
