// SPDX-License-Identifier: Apache-2.0
// Loops in loops, trees and pipelines with the oneTBB API.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_group.h>

#include "../tbb_width.hpp"
#include "wide_nested.hpp"

namespace {

using wide::Bodies;
using wide::Structure;

void loop(const Structure& s, const Bodies& bodies, std::size_t number) {
  tbb::parallel_for(s.starts[number], s.starts[number + 1], [&](std::size_t i) { bodies(i); });
}

template <typename Fork>
void tree(const Structure& s, const Bodies& bodies, bool parents_first, const Fork& fork,
          std::size_t node = 0) {
  if (parents_first) bodies(node);
  if (const std::size_t first = s.children[node]) {
    fork([&] { tree(s, bodies, parents_first, fork, first); },
         [&] { tree(s, bodies, parents_first, fork, first + 1); });
  }
  if (!parents_first) bodies(node);
}

void pipeline(const Structure& s, const Bodies& bodies) {
  std::size_t read = 0;
  std::size_t written = 0;
  tbb::parallel_pipeline(
      s.tokens, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order,
                                                    [&](tbb::flow_control& control) -> std::size_t {
                                                      if (read == bodies.count()) {
                                                        control.stop();
                                                        return 0;
                                                      }
                                                      wide::sleep_us(s.serial[read]);
                                                      return read++;
                                                    }) &
                    tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel,
                                                               [&](std::size_t i) {
                                                                 bodies(i);
                                                                 return i;
                                                               }) &
                    tbb::make_filter<std::size_t, void>(
                        tbb::filter_mode::serial_in_order, [&](std::size_t i) {
                          bench::check(i == written, "not in order");
                          ++written;
                        }));
  bench::check(written == bodies.count(), "an item is missing");
}

void call(const std::string& how, const Structure& s, const Bodies& bodies) {
  const auto in_group = [](const auto& one, const auto& other) {
    tbb::task_group group;
    group.run(one);
    group.run(other);
    group.wait();
  };
  if (how == "loops" || how == "uneven") {
    tbb::parallel_for(std::size_t{0}, s.starts.size() - 1,
                      [&](std::size_t number) { loop(s, bodies, number); });
  } else if (how == "tasks") {
    tbb::task_group group;
    for (std::size_t i = 0; i + 1 < s.starts.size(); ++i) {
      group.run([&, i] { loop(s, bodies, i); });
    }
    group.wait();
  } else if (how == "invokes") {
    tree(s, bodies, false, [](const auto&... two) { tbb::parallel_invoke(two...); });
  } else if (!s.children.empty()) {
    tree(s, bodies, how == "parents", in_group);
  } else {
    pipeline(s, bodies);
  }
}

void run(bench::Arguments& arguments, bench::Result& result) {
  bench::Width width(arguments.threads());
  const auto in_width = [&](const std::string& how, const Structure& s, const Bodies& bodies) {
    width.run([&] {
      call(how, s, bodies);
      return 0;
    });
  };
  wide::nested(arguments, result, in_width);
}

}  // namespace

const bench::Kernel bench::kernel = wide::nested_description(run);
