// SPDX-License-Identifier: Apache-2.0
// Graphs of random nodes in a row, whose results the specification determines: which messages come
// out. Also in which order after serial nodes. The program compiles with oneTBB's headers as well.
#include "random_stages.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

namespace {

using namespace random_graph;

// A graph of some stages, and the runs of messages through it.
class line {
 public:
  explicit line(unsigned seed) : choose_(seed) {
    for (auto& s : seen_) s = false;
    const int length = 1 + pick(6);
    for (int i = 0, doubles = 0; i < length; ++i) {
      stages_.push_back(make_stage(*g_, choose_, doubles));
      kinds_ += stages_.back()->kind + std::string(" ");
      can_wait_ = can_wait_ && stages_.back()->can_wait;
    }
    connect();
    prepare();
  }

  void run_all() {
    const int runs = 2 + pick(3);
    for (int i = 0; i < runs; ++i) {
      run();
      between();
    }
    run();
    if (pick(4) != 0) return;
    feed(50);
    g_.reset();  // while it runs
  }
  const std::string& kinds() const { return kinds_; }

 private:
  int pick(int n) { return int(choose_() % unsigned(n)); }

  void connect() {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      stages_[i]->connect();
      make_edge(stages_[i]->out(), i + 1 < stages_.size() ? stages_[i + 1]->in() : sink_);
    }
    make_edge(source_, stages_[0]->in());
  }
  void prepare() {
    for (auto& s : stages_) s->prepare();
  }
  void reset(reset_flags flags) {
    g_->reset(flags);
    if ((flags & rf_clear_edges) != 0) connect();
    prepare();
    source_is_new_ = true;
  }

  // Puts `count` messages; returns whether they come in the order of their numbers.
  bool feed(int count) {
    const int way = pick(source_is_new_ ? 4 : 3);
    if (way == 3) {
      made_ = 0;
      to_make_ = count;
      source_is_new_ = false;
      source_.activate();
      return true;
    }
    const int threads = way == 0 ? 1 : 2 + pick(3);
    std::vector<std::thread> all;
    std::atomic<int> refused{0};
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([this, t, threads, count, way, &refused] {
        for (int i = t; i < count; i += threads) {
          put(i, way, refused);
        }
        if (way != 2) return;
        try {
          g_->wait_for_all();
        } catch (const std::runtime_error&) {  // of the bomb
        }
      });
    }
    for (auto& t : all) t.join();
    EXPECT_EQ(refused, 0);
    return threads == 1;
  }

  void put(int i, int way, std::atomic<int>& refused) {
    receiver<message>& in = stages_[0]->in();
    if (way == 1 && can_wait_ && bomb() < 0 && !cancels_) {
      seen_[i] = false;
      if (!in.try_put_and_wait(message(i, i))) ++refused;
      EXPECT_TRUE(seen_[i]) << i;
    } else {
      if (!in.try_put(message(i, i))) ++refused;
    }
  }

  void run() {
    const int count = 1 + pick(120);
    std::vector<message> expected;
    for (int i = 0; i < count; ++i) expected.emplace_back(i, i);
    got_.clear();
    for (auto& s : stages_) s->begin();
    bool ordered = feed(count) && kKeepsOrder;
    g_->wait_for_all();
    for (auto& s : stages_) {
      s->model(expected);
      s->check(count, ordered);
      ordered = ordered && s->keeps_order;
    }
    if (!ordered) {
      std::sort(expected.begin(), expected.end());
      std::sort(got_.begin(), got_.end());
    }
    ASSERT_EQ(got_.size(), expected.size());
    for (std::size_t i = 0; i < got_.size(); ++i) {
      ASSERT_EQ(got_[i].id, expected[i].id) << i;
      ASSERT_EQ(got_[i].value, expected[i].value) << i;
    }
  }

  // What happens to a graph between two runs.
  void between() {
    switch (pick(7)) {
      case 0:
        reset(rf_reset_protocol);
        break;
      case 1:
        reset(rf_clear_edges);
        break;
      case 2:
        reset(reset_flags(rf_clear_edges | rf_reset_bodies));
        break;
      case 3: {  // another sink, and back
        message_sink other(*g_, unlimited, [](const message&) {});
        auto& last = stages_.back()->out();
        remove_edge(last, sink_);
        make_edge(last, other);
        stages_[0]->in().try_put(message(0, 0));
        g_->wait_for_all();
        remove_edge(last, other);
        make_edge(last, sink_);
        reset(rf_reset_protocol);
        break;
      }
      case 4: {  // a cancelled run
        got_.clear();
        cancels_ = true;
        std::thread canceller([this] { g_->cancel(); });
        feed(60);
        canceller.join();
        g_->wait_for_all();
        cancels_ = false;
        reset(rf_reset_protocol);
        break;
      }
      case 5: {  // a body throws
        bomb() = pick(20);
        feed(40);
        try {
          g_->wait_for_all();
        } catch (const std::runtime_error&) {
          EXPECT_TRUE(g_->exception_thrown());
        }
        bomb() = -1;
        reset(rf_reset_protocol);
        break;
      }
      default:
        break;
    }
  }

  std::mt19937 choose_;
  std::unique_ptr<graph> g_{new graph};
  bool can_wait_ = true;
  std::atomic<bool> seen_[512];  // by number, if the graph can wait for single messages
  std::atomic<int> made_{0};
  int to_make_ = 0;
  bool cancels_ = false;
  bool source_is_new_ = true;
  std::string kinds_;
  std::vector<message> got_;
  input_node<message> source_{*g_, [this](tbb::flow_control& control) {
                                if (made_ == to_make_) {
                                  control.stop();
                                  return message();
                                }
                                const int i = made_++;
                                return message(i, i);
                              }};
  message_sink sink_{*g_, serial, [this](const message& m) {
                       got_.push_back(m);
                       seen_[m.id] = true;
                     }};
  std::vector<std::unique_ptr<stage>> stages_;
};

// RANDOM_GRAPHS_SECONDS and RANDOM_GRAPHS_SEED make the test longer, or repeat one case.
TEST(RandomGraphs, PassOnWhatTheSpecificationSays) {
  const char* const seconds = std::getenv("RANDOM_GRAPHS_SECONDS");
  const char* const first = std::getenv("RANDOM_GRAPHS_SEED");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 0);
  unsigned seed = first ? unsigned(std::atoi(first)) : 1;
  for (int i = 0; i < 150 || std::chrono::steady_clock::now() < end; ++i, ++seed) {
    line l(seed);
    SCOPED_TRACE(l.kinds() + "seed " + std::to_string(seed));
    if (seconds != nullptr) std::fprintf(stderr, "%u %s\n", seed, l.kinds().c_str());
    l.run_all();
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(message::alive(), 0);
}

}  // namespace
