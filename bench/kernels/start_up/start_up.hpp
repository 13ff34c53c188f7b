// SPDX-License-Identifier: Apache-2.0
// The cost of the library in a short program: a process that makes one small parallel call and
// ends. The program runs itself several times. Each child reports the time since the start of main
// and since the parent requested it. Include the header of a Width before this one.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../harness.hpp"

namespace start_up {

// Runs this program with `arguments` and returns its output.
inline std::string output_of_child(std::vector<std::string> arguments) {
  static char path[] = "/proc/self/exe";
  int ends[2];
  bench::check(pipe(ends) == 0, "no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<char*> values = {path};
  for (std::string& argument : arguments) values.push_back(argument.data());
  values.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, path, &actions, nullptr, values.data(), environ);
  bench::check(error == 0, "the child did not start");
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  bench::check(waitpid(child, &status, 0) == child && status == 0, "the child failed");
  return text;
}

inline double figure(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\": ");
  bench::check(at != std::string::npos, "the child did not say");
  return std::strtod(json.c_str() + at + name.size() + 4, nullptr);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The short program. `asked` is the parent's clock when it requested this process.
template <typename Width>
void first_call(unsigned threads, double asked, bench::Result& result) {
  const double begin = bench::now();
  Width width(threads);
  std::atomic<unsigned> bodies{0};
  width.each(threads, [&](std::size_t) { bodies.fetch_add(1, std::memory_order_relaxed); });
  const double end = bench::now();
  result.checksum = bodies.load(std::memory_order_relaxed);
  bench::check(result.checksum == threads, "a body was left out or run twice");
  result.value = (end - begin) * 1e6;
  result.extra["from exec"] = (end - asked) * 1e6;
}

template <typename Width>
void run(bench::Arguments& arguments, bench::Result& result) {
  const unsigned threads = arguments.threads();
  const std::uint64_t children = arguments.number("children", 2);
  const std::uint64_t asked_ns = arguments.number("asked_ns", 0);
  if (asked_ns != 0) {
    return first_call<Width>(threads, static_cast<double>(asked_ns) * 1e-9, result);
  }
  bench::check(children > 0, "children= is at least 1");
  std::vector<double> from_main, from_exec;
  const double begin = bench::now();
  for (std::uint64_t i = 0; i < children; ++i) {
    const auto now_ns = static_cast<std::uint64_t>(bench::now() * 1e9);
    const std::string text = output_of_child(
        {"threads=" + std::to_string(threads), "asked_ns=" + std::to_string(now_ns)});
    from_main.push_back(figure(text, "value"));
    from_exec.push_back(figure(text, "from exec"));
  }
  result.seconds = bench::now() - begin;
  result.value = median(from_main);
  result.extra["from exec"] = median(from_exec);
  result.checksum = children;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  return {
      .name = "start_up",
      .title = "Start-up",
      .what =
          "Time from the start of main to the end of the first small parallel call, as the "
          "median of several processes. The figure from exec adds the time to load the program "
          "and its libraries.",
      .group = "modern scheduler",
      .metric = "time to the end of the first call",
      .unit = "us",
      .plot = "bars",
      .threads = {2},
      .cases = {{"", "children=10", "children=40", "children=200"}},
      .run = run,
  };
}

}  // namespace start_up
