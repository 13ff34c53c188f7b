// SPDX-License-Identifier: Apache-2.0
// Loops on more threads than processors: as many bodies as there are threads can all be inside at
// the same time. In these tests they wait for each other, so a loop that keeps a body for a busy
// thread never ends.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <forward_list>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "helped.hpp"

namespace {

constexpr int kThreads = 16;

// Returns whether `condition` holds within two minutes: where the system refuses so many threads, a
// test fails instead of hanging. The many threads that wait sleep.
template <typename Condition>
bool comes_true(const Condition& condition) {
  return test::wait_for(condition, 120'000,
                        [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
}

// Holds each thread until kThreads of them have come, round after round.
class Meeting {
 public:
  void join() {
    const int came = ++came_;
    const int needed = (came + kThreads - 1) / kThreads * kThreads;
    if (!comes_true([&] { return came_ >= needed; })) {
      ADD_FAILURE() << "only " << came_ << " bodies ran at the same time";
    }
  }
  int came() const { return came_; }

 private:
  std::atomic<int> came_{0};
};

class Wide : public testing::Test {
 protected:
  // Runs `f` with a new meeting, `rounds` times as many bodies as threads.
  template <typename F>
  void meet(int rounds, const F& f) {
    Meeting meeting;
    run([&] { f(meeting, rounds * kThreads); });
    EXPECT_EQ(meeting.came(), rounds * kThreads);
  }

  template <typename F>
  void run(const F& f) {
    arena_.execute(f);
  }

 private:
  tbb::global_control control_{tbb::global_control::max_allowed_parallelism, kThreads};
  tbb::task_arena arena_{kThreads};
};

// A range of the program's own, which splits off a sixth: pieces of many sizes, many of them
// waiting.
class Uneven {
 public:
  Uneven(int begin, int end) : begin_(begin), end_(end) {}
  Uneven(Uneven& left, tbb::split) : begin_(left.end_ - (left.size() + 5) / 6), end_(left.end_) {
    left.end_ = begin_;
  }
  bool empty() const { return size() == 0; }
  bool is_divisible() const { return size() > 1; }
  int size() const { return end_ - begin_; }

 private:
  int begin_, end_;
};

TEST_F(Wide, ForWithSimplePartitioner) {
  for (const int rounds : {1, 2}) {
    meet(rounds, [](Meeting& meeting, int n) {
      tbb::parallel_for(0, n, [&](int) { meeting.join(); }, tbb::simple_partitioner());
    });
  }
}

TEST_F(Wide, ForWithAutoPartitioner) {
  meet(1, [](Meeting& meeting, int n) { tbb::parallel_for(0, n, [&](int) { meeting.join(); }); });
}

TEST_F(Wide, ForWithAffinityPartitioner) {
  tbb::affinity_partitioner affinity;
  for (int i = 0; i < 3; ++i) {
    meet(1, [&](Meeting& meeting, int n) {
      tbb::parallel_for(0, n, [&](int) { meeting.join(); }, affinity);
    });
  }
}

TEST_F(Wide, Reduce) {
  const auto reduce = [](Meeting& meeting, int n, const auto& partitioner) {
    const int sum = tbb::parallel_reduce(
        tbb::blocked_range<int>(0, n), 0,
        [&](const tbb::blocked_range<int>& range, int value) {
          for (int i = range.begin(); i != range.end(); ++i) {
            meeting.join();
            value += i;
          }
          return value;
        },
        std::plus<int>(), partitioner);
    EXPECT_EQ(sum, n * (n - 1) / 2);
  };
  meet(1, [&](Meeting& meeting, int n) { reduce(meeting, n, tbb::simple_partitioner()); });
  meet(1, [&](Meeting& meeting, int n) { reduce(meeting, n, tbb::auto_partitioner()); });
}

TEST_F(Wide, DeterministicReduce) {
  meet(1, [](Meeting& meeting, int n) {
    tbb::parallel_deterministic_reduce(
        tbb::blocked_range<int>(0, n), 0,
        [&](const tbb::blocked_range<int>& range, int value) {
          meeting.join();
          return value + range.begin();
        },
        std::plus<int>());
  });
}

// A body for a scan of kThreads + 1 pieces, numbered from 0. The first kThreads are scanned at the
// same time: one at the front, the others ahead. So are the last kThreads when the front has passed
// all others.
class ScanBody {
 public:
  explicit ScanBody(Meeting& meeting) : meeting_(meeting) {}
  // Slow, so that a helper comes before the next body can be split off.
  ScanBody(ScanBody& left, tbb::split) : meeting_(left.meeting_) { test::work_a_little(); }

  template <typename Tag>
  void operator()(const tbb::blocked_range<int>& piece, Tag tag) {
    if (tag.is_final_scan() || piece.begin() != kThreads) meeting_.join();
    sum += piece.begin();
  }
  void reverse_join(ScanBody& left) { sum += left.sum; }
  void assign(ScanBody& other) { sum = other.sum; }

  int sum = 0;

 private:
  Meeting& meeting_;
};

TEST_F(Wide, Scan) {
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    meet(2, [](Meeting& meeting, int) {
      ScanBody body(meeting);
      tbb::parallel_scan(tbb::blocked_range<int>(0, kThreads + 1), body, tbb::simple_partitioner());
      EXPECT_EQ(body.sum, kThreads * (kThreads + 1) / 2);
    });
  }
}

// The front passes piece after piece, and each join of two bodies lasts until another thread does
// the final scan of the piece before.
TEST_F(Wide, ScanInvitesForFinalScansWhileTheFrontMoves) {
  struct Pieces {
    Meeting meeting;
    std::atomic<int> final{-1};  // the last piece whose final scan has begun
  };
  class Body {
   public:
    explicit Body(Pieces& pieces) : pieces_(pieces) {}
    Body(Body& left, tbb::split) : pieces_(left.pieces_) {}

    void operator()(const tbb::blocked_range<int>& piece, tbb::pre_scan_tag) {
      piece_ = piece.begin();
      if (piece_ < kThreads) pieces_.meeting.join();
    }
    void operator()(const tbb::blocked_range<int>& piece, tbb::final_scan_tag) {
      if (piece.begin() == 0) pieces_.meeting.join();
      int before = pieces_.final;
      while (before < piece.begin() &&
             !pieces_.final.compare_exchange_weak(before, piece.begin())) {
      }
    }
    void reverse_join(Body&) {
      if (piece_ > 1) {
        EXPECT_TRUE(comes_true([&] { return pieces_.final >= piece_ - 1; })) << piece_;
      }
    }
    void assign(Body&) {}

   private:
    Pieces& pieces_;
    int piece_ = 0;
  };
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    Pieces pieces;
    run([&] {
      Body body(pieces);
      tbb::parallel_scan(tbb::blocked_range<int>(0, kThreads + 1), body, tbb::simple_partitioner());
    });
    EXPECT_EQ(pieces.final, kThreads);
  }
}

TEST_F(Wide, RangesOfMoreDimensions) {
  meet(1, [](Meeting& meeting, int n) {
    tbb::parallel_for(
        tbb::blocked_range2d<int>(0, n / 4, 0, 4),
        [&](const tbb::blocked_range2d<int>&) { meeting.join(); }, tbb::simple_partitioner());
  });
  meet(1, [](Meeting& meeting, int n) {
    tbb::parallel_for(
        tbb::blocked_range3d<int>(0, n / 4, 0, 2, 0, 2),
        [&](const tbb::blocked_range3d<int>&) { meeting.join(); }, tbb::simple_partitioner());
  });
}

TEST_F(Wide, RangeOfTheProgram) {
  for (const int rounds : {1, 20}) {
    meet(rounds, [](Meeting& meeting, int n) {
      tbb::parallel_for(
          Uneven(0, n), [&](const Uneven&) { meeting.join(); }, tbb::simple_partitioner());
    });
  }
}

// A thief that finds nothing may be slow to leave: the loop must not end before it has. What it
// would write to then lies in the next loop's frame, which would end early.
TEST_F(Wide, ThievesThatFindNothingAreWaitedFor) {
  std::atomic<int> sum{0};
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    tbb::parallel_for(
        Uneven(0, 3), [&](const Uneven& range) { sum += range.size(); }, tbb::simple_partitioner());
  }
  EXPECT_EQ(sum, 3 * kRounds);
}

TEST_F(Wide, NestedLoops) {
  meet(1, [](Meeting& meeting, int n) {
    tbb::parallel_for(0, 4, [&](int) {
      tbb::parallel_for(0, n / 4, [&](int) { meeting.join(); }, tbb::simple_partitioner());
    });
  });
}

TEST_F(Wide, ForEach) {
  meet(1, [](Meeting& meeting, int n) {
    const std::vector<int> items(static_cast<std::size_t>(n));
    tbb::parallel_for_each(items, [&](int) { meeting.join(); });
  });
  meet(1, [](Meeting& meeting, int n) {
    const std::forward_list<int> items(static_cast<std::size_t>(n));
    tbb::parallel_for_each(items, [&](int) { meeting.join(); });
  });
  meet(1, [](Meeting& meeting, int n) {
    std::stringstream text;
    for (int i = 0; i < n; ++i) text << i << ' ';
    tbb::parallel_for_each(std::istream_iterator<int>(text), std::istream_iterator<int>(),
                           [&](int) { meeting.join(); });
  });
  meet(1, [](Meeting& meeting, int n) {
    const std::vector<int> items(1);
    tbb::parallel_for_each(items, [&](int item, tbb::feeder<int>& feeder) {
      if (item == 0) {
        for (int i = 1; i < n; ++i) feeder.add(i);
      }
      meeting.join();
    });
  });
}

}  // namespace
