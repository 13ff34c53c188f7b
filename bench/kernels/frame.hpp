// SPDX-License-Identifier: Apache-2.0
// The part of harness.hpp's functions that is the same on every system. Included once in a program,
// by what has its main().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "harness.hpp"

namespace bench {
namespace {

[[noreturn]] void usage_error(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), what.c_str());
  std::exit(2);
}

}  // namespace

Arguments::Arguments(int count, char** values) {
  for (int i = 1; i < count; ++i) {
    const char* equals = std::strchr(values[i], '=');
    if (!equals) usage_error(std::string("'") + values[i] + "' is not of the form name=value");
    values_[std::string(values[i], static_cast<std::size_t>(equals - values[i]))] = equals + 1;
  }
  const std::uint64_t wanted = number("threads", 1);
  if (wanted < 1 || wanted > 4096) usage_error("threads= must be from 1 to 4096");
  threads_ = static_cast<unsigned>(wanted);
}

std::uint64_t Arguments::number(const std::string& name, std::uint64_t fallback) {
  asked_[name] = true;
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(found->second.c_str(), &end, 10);
  if (end == found->second.c_str() || *end) usage_error(name + "= needs a whole number");
  return value;
}

std::string Arguments::text(const std::string& name, const std::string& fallback) {
  asked_[name] = true;
  const auto found = values_.find(name);
  return found == values_.end() ? fallback : found->second;
}

std::string Arguments::unknown() const {
  for (const auto& [name, value] : values_) {
    if (!asked_.count(name)) return name;
  }
  return {};
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void leave_out(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::_Exit(77);
}

void wrong(const char* what) {
  std::fprintf(stderr, "%s: wrong result: %s\n", kernel.name.c_str(), what);
  std::_Exit(1);
}

double in_threads(unsigned count, const std::function<void(unsigned)>& body) {
  std::atomic<unsigned> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      pin(i, count);
      ready.fetch_add(1, std::memory_order_release);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      body(i);
    });
  }
  while (ready.load(std::memory_order_acquire) != count) std::this_thread::yield();
  const double begin = now();
  go.store(true, std::memory_order_release);
  for (std::thread& thread : threads) thread.join();
  return now() - begin;
}

}  // namespace bench
