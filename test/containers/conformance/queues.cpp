// SPDX-License-Identifier: Apache-2.0
// Logs what the queues do.
#include <tbb/concurrent_priority_queue.h>
#include <tbb/concurrent_queue.h>

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "log.hpp"

namespace conformance {
namespace {

// ---- queues

template <typename Queue>
string contents(const Queue& q) {
  return values(q.unsafe_begin(), q.unsafe_end());
}

template <typename T, typename A>
void bounded_state(log& out, const tbb::concurrent_queue<T, A>& q) {
  out(q.unsafe_size());
}
template <typename T, typename A>
void bounded_state(log& out, const tbb::concurrent_bounded_queue<T, A>& q) {
  out(q.size(), q.capacity() > 1000000 ? -1 : int(q.capacity()));
}

template <typename Queue>
struct queue_step {
  template <typename T, typename A>
  static void unbound(tbb::concurrent_queue<T, A>&) {}
  template <typename T, typename A>
  static void unbound(tbb::concurrent_bounded_queue<T, A>& q) {
    q.set_capacity(1000);
  }
  template <typename T, typename A>
  static void bounded(log&, random&, tbb::concurrent_queue<T, A>&) {}
  template <typename T, typename A>
  static void bounded(log& out, random& r, tbb::concurrent_bounded_queue<T, A>& q) {
    counted result;
    switch (r(6)) {
      case 0:
        out("try_push", q.try_push(counted(1)));
        break;
      case 1:
        out("try_emplace", q.try_emplace(2));
        break;
      case 2:
        if (q.size() > 0) {
          q.pop(result);
          out("pop", result.value);
        }
        break;
      case 3:
        q.set_capacity(std::ptrdiff_t(10 + r(10)));
        break;
      case 4:
        q.set_capacity(1000);
        break;
      case 5:
        q.abort();
        break;
    }
  }
};

template <typename Queue>
void run_queue(const char* name, int count) {
  using allocator = typename Queue::allocator_type;
  constexpr bool kPropagates = std::allocator_traits<allocator>::propagate_on_container_swap::value;
  log out(name);
  random r(4);
  std::deque<Queue> queues;
  for (int i = 0; i < 4; ++i) queues.emplace_back(allocator(1 + i % 2));
  const auto state = [&out](const Queue& q) {
    out(contents(q), values(q.unsafe_cbegin(), q.unsafe_cend()), q.empty(),
        q.get_allocator().number);
    bounded_state(out, q);
  };
  for (int i = 0; i < count; ++i) {
    Queue& q = queues[r(queues.size())];
    Queue& other = queues[r(queues.size())];
    const counted value(static_cast<int>(r(100)));
    const std::vector<counted> several(r(6), value);
    const allocator with(static_cast<int>(1 + r(2)));
    const std::size_t what = r(14);
    // In oneTBB, an assignment replaces an allocator that should stay, and a swap keeps one that
    // should not. What a copy has for a capacity is nowhere said.
    const bool equal = q.get_allocator() == other.get_allocator();
    counted result(-2);
    out("op", what);
    if (std::distance(q.unsafe_begin(), q.unsafe_end()) > 8) q.clear();  // below the capacity
    switch (what) {
      case 0:
        q.push(value);
        break;
      case 1:
        q.push(counted(3));
        break;
      case 2:
        q.emplace(4);
        q.emplace();
        break;
      case 3:
        out(q.try_pop(result), result.value);
        break;
      case 4:
        q.assign(several.begin(), several.end());
        break;
      case 5:
        q.assign({counted(1), counted(2)});
        break;
      case 6:
        q = {counted(7)};
        break;
      case 7:
        if (&q != &other && (kPropagates || equal)) other = q;
        break;
      case 8: {
        Queue made(q);
        queue_step<Queue>::unbound(made);
        state(made);
        Queue given(q, allocator(9));
        queue_step<Queue>::unbound(given);
        state(given);
        break;
      }
      case 9: {
        Queue made(std::move(q));
        queue_step<Queue>::unbound(made);
        state(made);
        q = made;
        break;
      }
      case 10: {
        Queue made(std::move(q), with);
        queue_step<Queue>::unbound(made);
        state(made);
        q.clear();
        if (kPropagates || with == q.get_allocator()) q = std::move(made);
        break;
      }
      case 11:
        if (&q == &other || !equal) break;
        q.swap(other);
        swap(q, other);
        q.swap(other);
        break;
      case 12:
        out("equal", q == other, q != other);
        break;
      case 13:
        queue_step<Queue>::bounded(out, r, q);
        break;
    }
    if (what < 11) {
      queue_step<Queue>::unbound(q);
      queue_step<Queue>::unbound(other);
    }
    for (const Queue& each : queues) state(each);
  }
  const allocator memory(5);
  const std::vector<counted> source(3, counted(8));
  state(Queue());
  state(Queue(memory));
  state(Queue(source.begin(), source.end()));
  state(Queue(source.begin(), source.end(), memory));
  state(Queue({counted(1), counted(2)}));
  state(Queue({counted(1), counted(2)}, memory));
}

void queue_types() {
  log out("queue.types");
  using queue = tbb::concurrent_queue<int>;
  using bounded = tbb::concurrent_bounded_queue<int>;
  same<queue::size_type, std::size_t>(out);
  same<bounded::size_type, std::ptrdiff_t>(out);
  same<queue::difference_type, std::ptrdiff_t>(out);
  same<bounded::difference_type, std::ptrdiff_t>(out);
  same<queue::reference, int&>(out);
  same<queue::pointer, int*>(out);
  same<bounded::const_pointer, const int*>(out);
  same<std::iterator_traits<queue::iterator>::iterator_category, std::forward_iterator_tag>(out);
  same<std::iterator_traits<bounded::const_iterator>::reference, const int&>(out);
  out(std::is_convertible<queue::iterator, queue::const_iterator>::value);
  std::vector<int> n;
  const numbered<int, false> a(1);
  using tbb::concurrent_bounded_queue;
  using tbb::concurrent_queue;
  same<decltype(concurrent_queue(n.begin(), n.end())), queue>(out);
  same<decltype(concurrent_queue(n.begin(), n.end(), a)),
       concurrent_queue<int, numbered<int, false>>>(out);
  same<decltype(concurrent_queue({1, 2})), queue>(out);
  same<decltype(concurrent_queue({1, 2}, a)), concurrent_queue<int, numbered<int, false>>>(out);
  same<decltype(concurrent_bounded_queue(n.begin(), n.end())), bounded>(out);
  same<decltype(concurrent_bounded_queue(n.begin(), n.end(), a)),
       concurrent_bounded_queue<int, numbered<int, false>>>(out);
  same<decltype(concurrent_bounded_queue({1, 2})), bounded>(out);
}

// ---- concurrent_priority_queue

struct by_number {
  explicit by_number(int n = 0) : number(n) {}
  bool operator()(const counted& a, const counted& b) const {
    return number % 2 == 0 ? a < b : b < a;
  }
  int number;
};

template <bool kPropagates>
void run_priority_queue(const char* name, int count) {
  using allocator = numbered<counted, kPropagates>;
  using queue = tbb::concurrent_priority_queue<counted, by_number, allocator>;
  log out(name);
  random r(5);
  const auto state = [&out](const queue& q) {
    queue copy(q);
    string all;
    counted top;
    while (copy.try_pop(top)) all += std::to_string(top.value) + ',';
    out(all, q.size(), q.empty(), q.get_allocator().number);
  };
  const allocator memory(5);
  const by_number compare(1);
  const std::vector<counted> source = {3, 1, 4, 1, 5, 9, 2, 6};
  state(queue());
  state(queue(memory));
  state(queue(compare));
  state(queue(compare, memory));
  state(queue(10));
  state(queue(10, memory));
  state(queue(10, compare));
  state(queue(10, compare, memory));
  state(queue(source.begin(), source.end()));
  state(queue(source.begin(), source.end(), memory));
  state(queue(source.begin(), source.end(), compare));
  state(queue(source.begin(), source.end(), compare, memory));
  state(queue({counted(1), counted(2)}));
  state(queue({counted(1), counted(2)}, memory));
  state(queue({counted(1), counted(2)}, compare));
  state(queue({counted(1), counted(2)}, compare, memory));
  std::deque<queue> queues;
  for (int i = 0; i < 4; ++i) queues.emplace_back(by_number(1), allocator(1 + i / 2));
  for (int i = 0; i < count; ++i) {
    queue& q = queues[r(queues.size())];
    queue& other = queues[r(queues.size())];
    const counted value(static_cast<int>(r(100)));
    const std::vector<counted> several = {value, 50, 3, 70};
    const std::size_t what = r(13);
    counted result(-2);
    out("op", what);
    switch (what) {
      case 0:
        q.push(value);
        break;
      case 1:
        q.push(counted(static_cast<int>(r(100))));
        break;
      case 2:
        q.emplace(static_cast<int>(r(100)));
        break;
      case 3:
      case 4:
        out(q.try_pop(result), result.value);
        break;
      case 5:
        q.assign(several.begin(), several.end());
        break;
      case 6:
        q.assign({counted(1), counted(2)});
        break;
      case 7:
        q = {counted(7)};
        break;
      case 8:
        if (&q != &other) other = q;
        break;
      case 9: {
        queue made(std::move(q));
        state(made);
        q.clear();
        q = made;
        break;
      }
      case 10:
        if (&q == &other || (!kPropagates && q.get_allocator() != other.get_allocator())) break;
        q.swap(other);
        break;
      case 11:
        out("equal", q == other, q != other);
        break;
      case 12: {
        queue made(std::move(q), allocator(2));
        state(made);
        q.clear();
        q = std::move(made);
      }
    }
    for (const queue& each : queues) state(each);
  }
}

void priority_queue_types() {
  log out("priority_queue.types");
  using queue = tbb::concurrent_priority_queue<int>;
  same<queue::size_type, std::size_t>(out);
  same<queue::difference_type, std::ptrdiff_t>(out);
  same<queue::reference, int&>(out);
  same<queue::const_reference, const int&>(out);
  same<queue::allocator_type, tbb::cache_aligned_allocator<int>>(out);
  std::vector<int> n;
  const numbered<int, false> a(1);
  using greater = std::greater<int>;
  using tbb::concurrent_priority_queue;
  same<decltype(concurrent_priority_queue(n.begin(), n.end())), queue>(out);
  same<decltype(concurrent_priority_queue(n.begin(), n.end(), greater())),
       concurrent_priority_queue<int, greater>>(out);
  same<decltype(concurrent_priority_queue(n.begin(), n.end(), greater(), a)),
       concurrent_priority_queue<int, greater, numbered<int, false>>>(out);
  same<decltype(concurrent_priority_queue(n.begin(), n.end(), a)),
       concurrent_priority_queue<int, std::less<int>, numbered<int, false>>>(out);
  same<decltype(concurrent_priority_queue({1, 2})), queue>(out);
  same<decltype(concurrent_priority_queue({1, 2}, greater())),
       concurrent_priority_queue<int, greater>>(out);
  same<decltype(concurrent_priority_queue({1, 2}, greater(), a)),
       concurrent_priority_queue<int, greater, numbered<int, false>>>(out);
  same<decltype(concurrent_priority_queue({1, 2}, a)),
       concurrent_priority_queue<int, std::less<int>, numbered<int, false>>>(out);
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  using namespace conformance;
  log::is_verbose() = argc > 1 && std::strcmp(argv[1], "-v") == 0;
  run_queue<tbb::concurrent_queue<counted, numbered<counted, false>>>("queue", 3000);
  run_queue<tbb::concurrent_queue<counted, numbered<counted, true>>>("queue.propagating", 3000);
  run_queue<tbb::concurrent_bounded_queue<counted, numbered<counted, false>>>("bounded", 3000);
  run_queue<tbb::concurrent_bounded_queue<counted, numbered<counted, true>>>("bounded.propagating",
                                                                             3000);
  queue_types();
  run_priority_queue<false>("priority_queue", 3000);
  run_priority_queue<true>("priority_queue.propagating", 3000);
  priority_queue_types();
  return nothing_leaks() ? 0 : 1;
}
