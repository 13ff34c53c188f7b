// SPDX-License-Identifier: Apache-2.0
// A server with a thread for each request that is under way, more of them than cores: a thread
// builds the objects of a request (a line, headers, parameters, a document as a tree), reads them
// and frees them all. Every eighth request begins a session, which stays in a table that all
// threads share, in place of the oldest one; the thread frees that one, which another thread has
// usually made, thousands of requests ago. Threads are thus interrupted with their caches full,
// and long-lived objects lie between short-lived ones.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core_time.hpp"
#include "harness.hpp"
#include "sizes.hpp"

namespace {

constexpr std::size_t kSessions = 4096;
constexpr std::uint32_t kRequestsPerSession = 8;

// The letters are the number's, so that the text tells whether it has changed.
std::string text_of(bench::Random& random) {
  const std::size_t size = bench::skewed_size(random);
  return std::string(size, static_cast<char>('a' + random.below(26)));
}

// Reads both ends and the size.
std::uint64_t read(std::string_view text) {
  bench::check(text.front() == text.back(), "a text has changed");
  return text.size() * 256 + static_cast<unsigned char>(text.front());
}

struct Pair {
  std::string name;
  std::string value;
};

struct Node {
  std::string text;
  std::vector<std::unique_ptr<Node>> children;
};

struct Session {
  std::uint64_t number;
  std::string user;
  std::vector<Pair> settings;
};

struct Request {
  std::string line;
  std::vector<Pair> headers;
  std::vector<Pair> parameters;
  std::unique_ptr<Node> document;
};

std::vector<Pair> pairs_of(bench::Random& random, std::uint32_t most) {
  std::vector<Pair> pairs;
  const std::uint32_t count = 1 + random.below(most);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = text_of(random);
    pairs.push_back({std::move(name), text_of(random)});
  }
  return pairs;
}

std::unique_ptr<Node> tree_of(bench::Random& random, unsigned levels) {
  auto node = std::make_unique<Node>();
  node->text = text_of(random);
  if (levels == 0) return node;
  const std::uint32_t count = 1 + random.below(3);
  for (std::uint32_t i = 0; i < count; ++i) node->children.push_back(tree_of(random, levels - 1));
  return node;
}

std::unique_ptr<Request> request_of(bench::Random& random) {
  auto request = std::make_unique<Request>();
  request->line = text_of(random);
  request->headers = pairs_of(random, 12);
  request->parameters = pairs_of(random, 4);
  request->document = tree_of(random, 3);
  return request;
}

std::unique_ptr<Session> session_of(std::uint64_t number) {
  bench::Random random(number);
  auto session = std::make_unique<Session>();
  session->number = number;
  session->user = text_of(random);
  session->settings = pairs_of(random, 8);
  return session;
}

std::uint64_t read(const std::vector<Pair>& pairs) {
  std::uint64_t sum = 0;
  for (const Pair& pair : pairs) sum += read(pair.name) ^ read(pair.value);
  return sum;
}

std::uint64_t read(const Node& node) {
  std::uint64_t sum = read(node.text);
  for (const std::unique_ptr<Node>& child : node.children) sum = sum * 3 + read(*child);
  return sum;
}

std::uint64_t read(const Request& request) {
  return read(request.line) + read(request.headers) + read(request.parameters) +
         read(*request.document);
}

std::uint64_t read(const Session& session) {
  return session.number ^ (read(session.user) + read(session.settings));
}

// A ring: the oldest session is at the place of the next one.
class Table {
 public:
  // Puts it in place of the oldest session. Returns that one, or null.
  std::unique_ptr<Session> add(std::unique_ptr<Session> session) {
    // Relaxed: the place alone is shared by this counter.
    const std::size_t place = next_.fetch_add(1, std::memory_order_relaxed) % kSessions;
    // Release and acquire: the thread that takes the session out sees its objects.
    return std::unique_ptr<Session>(
        places_[place].exchange(session.release(), std::memory_order_acq_rel));
  }
  // After all threads have ended.
  std::uint64_t clear() {
    std::uint64_t sum = 0;
    for (std::atomic<Session*>& place : places_) {
      const std::unique_ptr<Session> session(place.exchange(nullptr, std::memory_order_relaxed));
      if (session) sum += read(*session);
    }
    return sum;
  }

 private:
  std::vector<std::atomic<Session*>> places_ = std::vector<std::atomic<Session*>>(kSessions);
  std::atomic<std::size_t> next_{0};
};

struct Sums {
  std::uint64_t requests = 0;
  std::uint64_t sessions = 0;  // of those freed
};

Sums serve(Table& table, std::uint64_t first, std::uint64_t count) {
  bench::Random random(first + 1);
  Sums sums;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::unique_ptr<Request> request = request_of(random);
    if (i % kRequestsPerSession == 0) {
      if (const std::unique_ptr<Session> old = table.add(session_of(i))) {
        sums.sessions += read(*old);
      }
    }
    sums.requests += read(*request);
  }
  return sums;
}

void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  const std::uint64_t each = arguments.number("requests", 20'000) / threads;
  Table table;
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> sessions{0};
  result.seconds = bench::in_threads(threads, [&](unsigned thread) {
    const Sums sums = serve(table, thread * each, each);
    requests.fetch_add(sums.requests, std::memory_order_relaxed);
    sessions.fetch_add(sums.sessions, std::memory_order_relaxed);
  });
  sessions += table.clear();
  std::uint64_t begun = 0;
  for (std::uint64_t i = 0; i < each * threads; i += kRequestsPerSession) {
    begun += read(*session_of(i));
  }
  bench::check(sessions == begun, "a session is lost or was freed twice");
  result.value = bench::core_seconds_each(result.seconds, threads, each * threads) * 1e6;
  result.checksum = requests + sessions;
}

}  // namespace

const bench::Kernel bench::kernel{
    .name = "request_threads",
    .title = "A thread for each request",
    .what =
        "4 to 64 threads share a fixed number of requests; each builds, reads and frees about 60 "
        "strings and vectors, and every eighth adds a session to a table of 4,096 that all share "
        "and frees the oldest one. The figure is core time per request: the elapsed time times "
        "the threads (or the cores, if there are fewer), divided by the requests.",
    .group = "modern allocator",
    .metric = "processor time of a request",
    .unit = "us",
    .plot = "lines",
    .threads = {4, 16, 64},
    .brief_threads = {4, 64},
    .cases = {{"", "requests=32000", "requests=200000", "requests=2000000"}},
    .run = run,
};
