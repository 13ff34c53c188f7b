// SPDX-License-Identifier: Apache-2.0
// Tasks of all sizes. Headers before 2022 free some of them with the size of a base class, in the
// thread that runs the task.
#include "client.hpp"

#include <array>

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 200;

template <std::size_t kBytes>
using Filling = std::array<unsigned char, kBytes>;

template <std::size_t kBytes>
Filling<kBytes> filled(int with) {
  Filling<kBytes> made;
  made.fill(static_cast<unsigned char>(with));
  return made;
}

template <std::size_t kBytes>
bool is_filled(const Filling<kBytes>& filling, int with) {
  return std::all_of(filling.begin(), filling.end(),
                     [with](unsigned char c) { return c == static_cast<unsigned char>(with); });
}

// The threads do not end: older oneTBB frees a thread's blocks too early when the thread ends, if
// some of them were freed with another size.
template <typename Call>
void in_threads(const Call& call) {
  std::atomic<int> done{0};
  for (int t = 0; t < kThreads; ++t) {
    std::thread([&] {
      call();
      ++done;
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
  }
  wait_for([&] { return done == kThreads; });
}

// Handles and plain tasks with `kBytes` of captures in turn, so that blocks of all sizes are free
// when one is asked for.
template <std::size_t kBytes>
void run(tbb::task_group& group, std::atomic<long>& right, int i) {
  const auto body = [&right, i, filling = filled<kBytes>(i)] { right += is_filled(filling, i); };
  group.run(group.defer(body));
  group.run(body);
}

void handles() {
  tbb::task_group group;
  std::atomic<long> right{0};
  in_threads([&] {
    tbb::task_group own;
    for (int round = 0; round < kRounds; ++round) {
      for (tbb::task_group* g : {&own, &group}) {
        run<1>(*g, right, round);
        run<40>(*g, right, round);
        run<100>(*g, right, round);
        run<140>(*g, right, round);
        run<200>(*g, right, round);
        run<300>(*g, right, round);
        run<1000>(*g, right, round);
      }
      own.wait();
    }
  });
  group.wait();
  say("handles", right);
}

// A body that counts itself where it is not aligned as its type says.
struct alignas(128) Aligned {
  std::atomic<long>* misaligned;
  void operator()() const {
    *misaligned += reinterpret_cast<std::uintptr_t>(this) % alignof(Aligned) != 0;
  }
};

void aligned_bodies() {
  std::atomic<long> misaligned{0};
  tbb::task_group group;
  for (int i = 0; i < 100; ++i) group.run(Aligned{&misaligned});
  for (int i = 0; i < 100; ++i) group.run(group.defer(Aligned{&misaligned}));
  group.wait();
  say("misaligned", misaligned);
}

// What runs through a graph has `kBytes`.
template <std::size_t kBytes>
void messages() {
  using namespace tbb::flow;
  using Message = Filling<kBytes>;
  graph g;
  std::atomic<long> right{0};
  buffer_node<Message> buffer(g);
  function_node<Message, Message> first(g, unlimited, [](const Message& m) { return m; });
  function_node<Message, Message> second(g, serial, [](const Message& m) { return m; });
  function_node<Message> last(g, unlimited,
                              [&](const Message& m) { right += is_filled<kBytes>(m, m[0]); });
  make_edge(buffer, first);
  make_edge(first, second);
  make_edge(second, last);
  in_threads([&] {
    for (int i = 0; i < kRounds; ++i) {
      buffer.try_put(filled<kBytes>(i));
      first.try_put(filled<kBytes>(i));
    }
  });
  g.wait_for_all();
  std::printf("messages of %zu: %ld\n", kBytes, long(right));
}

}  // namespace

int main() {
  handles();
  messages<24>();
  messages<64>();
  messages<100>();
  messages<160>();
  messages<256>();
  messages<400>();
  handles();
  aligned_bodies();
  std::puts("end");
  return 0;
}
