// SPDX-License-Identifier: Apache-2.0
// Hot spots that corbel profile time has to find: counters of two threads on one cache line, a
// vector that grows, blocks of a short life, and blocks that another thread frees.
//
//   planted_spots PART...: sharing, growth, brief, handover
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

// Of the calling thread, in seconds: the parts end when they have used enough of it.
double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr double kPart = 0.3;

// ---- false sharing ----

struct Counters {
  std::atomic<long> read{0};
  std::atomic<long> written{0};
};
alignas(64) Counters counters;

__attribute__((noinline)) void count_reads(int times) {
  for (int i = 0; i < times; ++i) counters.read.fetch_add(1, std::memory_order_relaxed);
}

__attribute__((noinline)) void count_writes(int times) {
  for (int i = 0; i < times; ++i) counters.written.fetch_add(1, std::memory_order_relaxed);
}

// Both threads go on until both have had enough: each has its time while the other is there.
void share() {
  std::atomic<int> busy{2};
  const auto run = [&](void (*count)(int)) {
    bool enough = false;
    while (busy.load() > 0) {
      count(10000);
      if (!enough && processor_time() > kPart) {
        enough = true;
        --busy;
      }
    }
  };
  std::thread other(run, count_writes);
  std::thread(run, count_reads).join();
  other.join();
}

// ---- a vector that grows ----

struct Triangle {
  double corners[9];
};

__attribute__((noinline)) std::vector<Triangle> tessellate(int count) {
  std::vector<Triangle> mesh;
  for (int i = 0; i < count; ++i) mesh.push_back({{double(i)}});
  return mesh;
}

void grow() {
  std::size_t all = 0;
  while (processor_time() < kPart) all += tessellate(3000).size();
  if (all == 0) std::puts("nothing");
}

// ---- brief lives ----

__attribute__((noinline)) void use(char* text) { std::memset(text, 'x', 40); }

__attribute__((noinline)) void format_line() {
  const std::unique_ptr<char[]> text(new char[40]);
  use(text.get());
}

void live_briefly() {
  while (processor_time() < kPart) {
    for (int i = 0; i < 10000; ++i) format_line();
  }
}

// ---- hand-overs ----

struct Message {
  char text[100];
};

std::mutex lock;
std::condition_variable changed;
std::vector<Message*> sent;
bool is_last = false;

Message* make_message() { return new Message; }

__attribute__((noinline)) void consume(std::vector<Message*>& messages) {
  for (Message* message : messages) delete message;
  messages.clear();
}

void hand_over() {
  std::thread consumer([] {
    std::vector<Message*> messages;
    for (bool last = false; !last;) {
      {
        std::unique_lock held(lock);
        changed.wait(held, [] { return is_last || !sent.empty(); });
        messages.swap(sent);
        last = is_last;
      }
      changed.notify_all();
      consume(messages);
    }
  });
  std::vector<Message*> batch;
  const double end = processor_time() + kPart;
  while (processor_time() < end) {
    for (int i = 0; i < 1000; ++i) batch.push_back(make_message());
    std::unique_lock held(lock);
    changed.wait(held, [] { return sent.empty(); });
    sent.swap(batch);
    held.unlock();
    changed.notify_all();
  }
  {
    const std::lock_guard held(lock);
    is_last = true;
  }
  changed.notify_all();
  consumer.join();
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string_view part = words[i];
    // Each in a thread of its own, whose processor time begins at 0.
    if (part == "sharing") std::thread(share).join();
    if (part == "growth") std::thread(grow).join();
    if (part == "brief") std::thread(live_briefly).join();
    if (part == "handover") std::thread(hand_over).join();
  }
}
