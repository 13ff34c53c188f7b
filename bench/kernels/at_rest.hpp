// SPDX-License-Identifier: Apache-2.0
// The memory of an object at rest: the growth of the resident set while many are made, divided by
// their number. That includes what the allocator beneath adds, and what a library shares among its
// objects counts only as far as the first ones, made before, do not use it up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"

namespace at_rest {

// Makes `count` objects and keeps them until it is destroyed.
using Made = std::shared_ptr<void>;
using Maker = std::function<Made(std::uint64_t count)>;

// `count` objects, made by `make(i)`, which returns a pointer.
template <typename Make>
Maker many(Make make) {
  return [make](std::uint64_t count) {
    using Owner = decltype(make());
    const auto all = std::make_shared<std::vector<Owner>>();
    all->reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) all->push_back(make());
    return Made(all);
  };
}

// Empty containers, or other objects that are made without arguments.
template <typename Object>
Maker empty() {
  return many([] { return std::make_unique<Object>(); });
}

// One container with `count` elements: `add(container, i)` adds one.
template <typename Container, typename Add>
Maker filled(Add add) {
  return [add](std::uint64_t count) {
    const auto made = std::make_shared<Container>();
    for (std::uint64_t i = 0; i < count; ++i) add(*made, i);
    return Made(made);
  };
}

inline void measure(bench::Arguments& arguments, bench::Result& result,
                    const std::map<std::string, Maker>& makers) {
  const std::uint64_t count = arguments.number("count", 2000);
  const auto found = makers.find(arguments.text("object", ""));
  bench::check(found != makers.end(), "object= is not known");
  const Made first = found->second(count / 20 + 1);
  const std::uint64_t before = bench::status_kib("VmRSS");
  const double begin = bench::now();
  const Made all = found->second(count);
  result.seconds = bench::now() - begin;
  const std::uint64_t after = bench::status_kib("VmRSS");
  bench::check(after >= before, "the resident set has shrunk");
  result.value = static_cast<double>((after - before) * 1024) / static_cast<double>(count);
  result.checksum = count;
}

inline bench::Kernel description(const char* name, const char* title, const char* what,
                                 const char* group, std::vector<bench::Case> cases,
                                 void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = name,
      .title = title,
      .what = what,
      .group = group,
      .metric = "memory of an object",
      .unit = "B",
      .plot = "bars",
      .watches = true,  // it varies little
      .threads = {1},
      .cases = std::move(cases),
      .run = run,
  };
}

// A case of `count` objects in all sizes: the figure hardly depends on it.
inline bench::Case sizes(const char* label, const std::string& object, unsigned count) {
  const std::string words = "object=" + object + " count=" + std::to_string(count);
  return {label, words, words, words};
}

}  // namespace at_rest
