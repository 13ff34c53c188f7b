// SPDX-License-Identifier: Apache-2.0
// Pipelines.
#include <dlfcn.h>

#include "client.hpp"

namespace {

void pipelines() {
  for (const std::size_t tokens : {1, 4, 64}) {
    int next = 0;
    long last = -1, sum = 0;
    bool is_ordered = true;
    tbb::parallel_pipeline(
        tokens,
        tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order,
                                            [&](tbb::flow_control& control) -> std::string {
                                              if (next == 1000) control.stop();
                                              return std::to_string(next++);
                                            }) &
            tbb::make_filter<std::string, long>(tbb::filter_mode::parallel,
                                                [](const std::string& s) { return std::stol(s); }) &
            tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order, [&](long x) {
              is_ordered = is_ordered && x == last + 1;
              last = x;
              sum += x;
            }));
    say("ordered", is_ordered);
    say("piped", sum);
  }
  std::atomic<int> made{0};
  std::atomic<long> out{0};
  tbb::parallel_pipeline(
      8, tbb::make_filter<void, int>(tbb::filter_mode::parallel, [&](tbb::flow_control& control) {
           const int i = made++;
           if (i >= 500) control.stop();
           return i;
         }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_out_of_order, [&](int x) {
           out += x;
         }));
  say("parallel source", out);
  try {
    int i = 0;
    tbb::parallel_pipeline(
        4, tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order,
                                               [&](tbb::flow_control& control) -> std::string {
                                                 if (i++ == 100) control.stop();
                                                 return std::string(100, 'x');
                                               }) &
               tbb::make_filter<std::string, void>(
                   tbb::filter_mode::parallel,
                   [&](const std::string&) { throw std::runtime_error("in a filter"); }));
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
  }
}

// An item that is counted, so that every item of a cancelled pipeline is seen to be destroyed.
struct Item {
  static std::atomic<long> alive;
  long value;
  std::string text = std::string(50, 'x');
  Item(long v = 0) : value(v) { ++alive; }
  Item(const Item& other) : value(other.value), text(other.text) { ++alive; }
  Item& operator=(const Item&) = default;
  ~Item() { --alive; }
};
std::atomic<long> Item::alive{0};

// oneTBB sometimes leaks the items that are in a pipeline when a filter throws.
void say_destroyed() {
  const bool is_corbel = dlsym(RTLD_DEFAULT, "corbel_libtbb12_version") != nullptr;
  say("destroyed", Item::alive == 0 || !is_corbel);
  Item::alive = 0;
}

void more_pipelines() {
  using Mode = tbb::filter_mode;
  for (const Mode first : {Mode::serial_in_order, Mode::serial_out_of_order}) {
    for (const Mode middle : {Mode::serial_in_order, Mode::serial_out_of_order, Mode::parallel}) {
      for (const Mode last : {Mode::serial_in_order, Mode::serial_out_of_order, Mode::parallel}) {
        long made = 0;
        std::atomic<long> sum{0};
        std::atomic<int> inside{0}, most{0};
        const tbb::filter<void, void> chain =
            tbb::make_filter<void, Item>(first,
                                         [&](tbb::flow_control& control) {
                                           if (made == 200) control.stop();
                                           return Item(made++);
                                         }) &
            tbb::make_filter<Item, Item>(middle,
                                         [&](Item i) {
                                           const int now = ++inside;
                                           for (int m = most;
                                                now > m && !most.compare_exchange_weak(m, now);) {
                                           }
                                           i.value *= 2;
                                           --inside;
                                           return i;
                                         }) &
            tbb::make_filter<Item, void>(last, [&](const Item& i) { sum += i.value; });
        tbb::parallel_pipeline(5, chain);
        say("sum", sum);
        say("at once", most <= (middle == Mode::parallel ? 5 : 1));
      }
    }
  }
  say("alive", Item::alive);
  // One filter alone.
  int left = 50;
  tbb::parallel_pipeline(
      3, tbb::make_filter<void, void>(Mode::serial_in_order, [&](tbb::flow_control& control) {
        if (--left == 0) control.stop();
      }));
  say("left", left);
  // Exceptions and cancellation in each stage.
  for (int where = 0; where < 3; ++where) {
    tbb::task_group_context context;
    int made = 0;
    try {
      tbb::parallel_pipeline(4,
                             tbb::make_filter<void, Item>(Mode::serial_in_order,
                                                          [&](tbb::flow_control& control) {
                                                            if (where == 0 && made == 50)
                                                              throw where;
                                                            if (made == 100) control.stop();
                                                            return Item(made++);
                                                          }) &
                                 tbb::make_filter<Item, Item>(Mode::parallel,
                                                              [&](const Item& i) {
                                                                if (where == 1 && i.value == 50)
                                                                  throw where;
                                                                return i;
                                                              }) &
                                 tbb::make_filter<Item, void>(Mode::serial_in_order,
                                                              [&](const Item& i) {
                                                                if (where == 2 && i.value == 50)
                                                                  throw where;
                                                              }),
                             context);
    } catch (int thrown) {
      say("thrown", thrown);
    }
    say_destroyed();
    say("cancelled", context.is_group_execution_cancelled());
  }
  tbb::task_group_context cancelled;
  int made = 0;
  tbb::parallel_pipeline(4,
                         tbb::make_filter<void, Item>(Mode::serial_in_order,
                                                      [&](tbb::flow_control& control) {
                                                        if (made == 100000) control.stop();
                                                        return Item(made++);
                                                      }) &
                             tbb::make_filter<Item, void>(Mode::parallel,
                                                          [&](const Item& i) {
                                                            if (i.value == 20)
                                                              cancelled.cancel_group_execution();
                                                          }),
                         cancelled);
  say("stopped", made < 100000);
  say_destroyed();
  // A pipeline in a stage of another one, and a loop.
  std::atomic<long> nested{0};
  int outer = 0;
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, int>(Mode::serial_in_order, [&](tbb::flow_control& control) {
           if (outer == 20) control.stop();
           return outer++;
         }) & tbb::make_filter<int, void>(Mode::parallel, [&](int) {
           int inner = 0;
           tbb::parallel_pipeline(
               2,
               tbb::make_filter<void, int>(Mode::serial_in_order, [&](tbb::flow_control& control) {
                 if (inner == 10) control.stop();
                 return inner++;
               }) & tbb::make_filter<int, void>(Mode::parallel, [&](int) {
                 tbb::parallel_for(0, 5, [&](int) { ++nested; });
               }));
         }));
  say("nested", nested);
  // Pointers, and small values that do not need memory; a null pointer is an item.
  std::atomic<long> nulls{0}, small{0};
  int pointers = 0;
  char text[] = "text";
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, char*>(Mode::serial_in_order,
                                       [&](tbb::flow_control& control) -> char* {
                                         if (pointers == 100) control.stop();
                                         return ++pointers % 2 ? nullptr : text;
                                       }) &
             tbb::make_filter<char*, short>(Mode::parallel,
                                            [&](char* p) -> short {
                                              nulls += p == nullptr;
                                              return p == nullptr ? 1 : 2;
                                            }) &
             tbb::make_filter<short, void>(Mode::parallel, [&](short s) { small += s; }));
  say("nulls", nulls);
  say("small", small);
}

}  // namespace

int main() {
  pipelines();
  more_pipelines();
  std::puts("end");
  return 0;
}
