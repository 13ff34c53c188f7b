// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <corbel/detail/epoch.hpp>

#include <atomic>
#include <thread>

namespace test {

using corbel::detail::epoch_number;
using corbel::detail::epoch_reader;
using corbel::detail::has_passed;
using corbel::detail::reading_section;
using corbel::detail::retire_epoch;

// A thread that is in a section from its construction until end().
class Reader {
 public:
  Reader() : thread_([this] { run(); }) {
    while (!is_inside_) std::this_thread::yield();
  }
  ~Reader() { end(); }
  void end() {
    may_end_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    reading_section section;
    {
      reading_section nested;
    }
    is_inside_ = true;
    while (!may_end_) std::this_thread::yield();
  }

  std::atomic<bool> is_inside_{false}, may_end_{false};
  std::thread thread_;
};

}  // namespace test
