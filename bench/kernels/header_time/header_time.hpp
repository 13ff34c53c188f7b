// SPDX-License-Identifier: Apache-2.0
// The time to compile a file that only includes one header. The lab gives the program its own
// compiler and flags, in BENCH_COMPILER.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "../harness.hpp"

namespace header_time {

// `compiler` is a command with flags, `header` the name of the header.
inline void measure(bench::Result& result, const std::string& compiler, const std::string& header) {
  const std::string command =
      "echo '#include <" + header + ">' | " + compiler + " -std=c++17 -w -fsyntax-only -x c++ -";
  const double begin = bench::now();
  const int status = std::system(command.c_str());
  result.seconds = bench::now() - begin;
  bench::check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the header does not compile");
  result.value = result.seconds;
  result.checksum = 1;
}

inline bench::Kernel description(void (*run)(bench::Arguments&, bench::Result&)) {
  const auto header = [](const char* name) {
    const std::string words = std::string("header=") + name;
    return bench::Case{name, words, words, words};
  };
  return {
      .name = "header_time",
      .title = "Compile time of a header",
      .what =
          "The time in which the compiler reads a file that includes one header, as C++17 and "
          "without generating code. The serial program includes the standard header in its "
          "place.",
      .group = "container",
      .plot = "bars",
      .watches = true,  // it takes long and varies little
      .threads = {1},
      .cases = {header("concurrent_hash_map"), header("concurrent_unordered_map"),
                header("concurrent_map"), header("concurrent_vector"), header("concurrent_queue"),
                header("concurrent_priority_queue"), header("flow_graph")},
      .run = run,
  };
}

}  // namespace header_time
