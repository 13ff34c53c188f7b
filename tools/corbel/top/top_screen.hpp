// SPDX-License-Identifier: Apache-2.0
// What `corbel top` draws.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "top/heap_sample.hpp"

namespace corbel::cli {

// The terminal while a program fills all of it: the alternate screen, without echo. It is as before
// when the object is gone, and after a signal that ends the process.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows the lines, cut to the size of the terminal.
  void show(const std::vector<std::string>& lines);

  // Waits until `seconds` have passed, a key is pressed, or the size changes. Returns the key; 0
  // when there is none; 'q' also for Ctrl-C.
  char wait(double seconds);
};

// What a view of one process remembers of the last samples.
class History {
 public:
  void add(HeapSample sample);
  const HeapSample& last() const { return samples_.back(); }
  const HeapSample* before() const {
    return samples_.size() > 1 ? &samples_[samples_.size() - 2] : nullptr;
  }
  // One value for each sample.
  std::vector<double> values(const char* field) const;
  std::vector<double> task_rates(const char* field) const;

 private:
  static constexpr std::size_t kMax = 60;
  std::deque<HeapSample> samples_;
};

std::vector<std::string> draw_process(const History& history, int width, int height);

// A line for each process; `errors` has those that did not answer.
struct ListEntry {
  ProcessFacts process;
  std::optional<HeapSample> sample;
  std::string error;
};
std::vector<std::string> draw_list(const std::vector<ListEntry>& entries, int width);

// One line, for an output that is no terminal.
std::string summary_line(const HeapSample* before, const HeapSample& now);

std::string human_bytes(std::uint64_t bytes);

// `values` as a row of at most `width` bars, the last ones, each as high as its share of the
// largest value.
std::string bars(const std::vector<double>& values, std::size_t width);

}  // namespace corbel::cli
