// SPDX-License-Identifier: Apache-2.0
//
// The program that test_cpp.py compiles and runs on the system's malloc and on Corbel: threads that
// pass strings, containers and exceptions to each other, so that most blocks are freed by a thread
// other than the one that allocated them, and that throw all the time. Its output is a checksum
// that does not depend on the order of the threads.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kThreads = 6;
constexpr int kItems = 40000;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15ull;
  return x ^ (x >> 29);
}

std::uint64_t digest(const std::string& text) {
  std::uint64_t h = text.size();
  for (char c : text) h = mix(h + static_cast<unsigned char>(c));
  return h;
}

struct alignas(128) Wide {
  unsigned char bytes[384];
};

class Bad : public std::runtime_error {
 public:
  Bad(std::string what, std::vector<std::string> trail)
      : std::runtime_error(what), trail(std::move(trail)) {}
  std::vector<std::string> trail;
};

template <class T>
class Channel {
 public:
  void put(T item) {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [&] { return items_.size() < 256; });
    items_.push_back(std::move(item));
    filled_.notify_one();
  }
  T take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !items_.empty(); });
    T item = std::move(items_.front());
    items_.pop_front();
    space_.notify_one();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_, space_;
  std::deque<T> items_;
};

struct Message {
  std::string text;
  std::shared_ptr<std::map<int, std::string>> shared;
  std::unique_ptr<Wide> wide;
  std::exception_ptr trouble;
};

// Throws from the given depth. Every frame on the way holds memory that unwinding has to free.
void descend(int depth, const std::string& text) {
  std::vector<std::string> local(static_cast<std::size_t>(depth % 5) + 1,
                                 text + std::to_string(depth));
  if (depth == 0) throw Bad("bottom of " + text, {text, text + text});
  try {
    descend(depth - 1, text);
  } catch (const Bad& bad) {
    if (depth % 4 != 0) throw;
    auto trail = bad.trail;
    trail.push_back(local.back());
    throw Bad(std::string(bad.what()) + "<", std::move(trail));
  }
}

Message make(int thread, int number) {
  Message m;
  const std::uint64_t r =
      mix(static_cast<std::uint64_t>(thread) * kItems + static_cast<unsigned>(number) + 1);
  m.text.assign(r % 700, static_cast<char>('a' + r % 26));
  if (number % 3 == 0) {
    m.shared = std::make_shared<std::map<int, std::string>>();
    for (unsigned i = 0; i < r % 20; ++i)
      (*m.shared)[static_cast<int>(mix(i + r) % 1000)] = m.text.substr(0, i * 7);
  }
  if (number % 5 == 0) {
    m.wide = std::make_unique<Wide>();
    if (reinterpret_cast<std::uintptr_t>(m.wide.get()) % alignof(Wide) != 0) std::abort();
    std::memset(m.wide->bytes, static_cast<int>(r), sizeof m.wide->bytes);
  }
  if (number % 7 == 0) {
    try {
      descend(static_cast<int>(r % 12), "t" + std::to_string(r % 1000));
    } catch (...) {
      m.trouble = std::current_exception();
    }
  }
  return m;
}

std::uint64_t consume(const Message& m) {
  std::uint64_t sum = digest(m.text);
  if (m.shared)
    for (const auto& [key, value] : *m.shared)
      sum += mix(static_cast<std::uint64_t>(key)) ^ digest(value);
  if (m.wide)
    for (unsigned char byte : m.wide->bytes) sum += byte;
  if (m.trouble) {
    try {
      std::rethrow_exception(m.trouble);
    } catch (const Bad& bad) {
      sum += digest(bad.what());
      for (const auto& entry : bad.trail) sum += digest(entry);
    }
  }
  return sum;
}

thread_local std::vector<std::string> keepsakes;

std::uint64_t ring() {
  std::vector<Channel<Message>> channels(kThreads);
  std::atomic<std::uint64_t> total{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::uint64_t sum = 0;
      for (int i = 0; i < kItems; ++i) {
        channels[static_cast<std::size_t>((t + 1) % kThreads)].put(make(t, i));
        Message m = channels[static_cast<std::size_t>(t)].take();
        sum += consume(m);
        if (i % 1000 == 0) keepsakes.push_back(std::move(m.text));
      }
      total.fetch_add(sum, std::memory_order_relaxed);
    });
  }
  for (auto& thread : threads) thread.join();
  return total.load();
}

std::uint64_t short_threads() {
  std::uint64_t sum = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::future<std::unordered_map<std::string, std::uint64_t>>> futures;
    for (int t = 0; t < 8; ++t) {
      futures.push_back(std::async(std::launch::async, [round, t] {
        if ((round + t) % 9 == 0) descend(t, "async" + std::to_string(round));
        std::unordered_map<std::string, std::uint64_t> result;
        for (unsigned i = 0; i < 60; ++i)
          result["key " + std::to_string(i * i)] = mix(i + static_cast<unsigned>(t));
        return result;
      }));
    }
    for (auto& future : futures) {
      try {
        for (const auto& [key, value] : future.get()) sum += digest(key) ^ value;
      } catch (const std::exception& e) {
        sum += digest(e.what());
      }
    }
  }
  return sum;
}

int refused() {
  int caught = 0;
  volatile std::size_t huge = std::numeric_limits<std::ptrdiff_t>::max() - 64;
  std::vector<std::thread> threads;
  std::atomic<int> count{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        try {
          std::unique_ptr<char[]> none(new char[huge]);
          none[0] = 1;
        } catch (const std::bad_alloc&) {
          count.fetch_add(1);
        }
        if (void* p = ::operator new(huge, std::nothrow)) ::operator delete(p);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  caught = count.load();
  return caught;
}

}  // namespace

int main(int argc, char**) {
  std::printf("ring %016llx\n", static_cast<unsigned long long>(ring()));
  std::printf("short threads %016llx\n", static_cast<unsigned long long>(short_threads()));
  std::printf("refused %d\n", refused());
  if (argc > 1) {  // The caller wants to see this process's libraries.
    std::fflush(stdout);
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr)
      std::fputs(line, stderr);
  }
}
