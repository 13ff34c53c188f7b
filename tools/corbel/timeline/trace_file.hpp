// SPDX-License-Identifier: Apache-2.0
// A timeline as the scheduler writes it (CORBEL_TRACE=FILE): JSON in the format of Chrome's trace
// viewer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace corbel::cli::timeline {

enum class Kind : std::uint8_t { kCall, kWait, kIdle, kTask };

// Times are in ns since the beginning of the trace.
struct Event {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  Kind kind = Kind::kTask;
  std::uint32_t function = 0;  // of a task: an index in Trace::functions
};

struct Steal {
  std::uint64_t pushed = 0;
  std::uint64_t taken = 0;
  std::uint32_t from = 0;  // indices in Trace::threads
  std::uint32_t to = 0;
};

struct Thread {
  unsigned number = 0;
  std::string name;
  std::vector<Event> events;  // by their beginning; what encloses others comes before them
};

struct Function {
  std::string key;           // what the file calls it: an address, or a name
  std::string file;          // where its code is; empty if that is not known
  std::uint64_t offset = 0;  // in the addresses of that file
  std::string name;          // short, for people
  std::string full_name;     // as the linker has it
};

struct Trace {
  std::vector<Thread> threads;
  std::vector<Function> functions;
  std::vector<Steal> steals;              // by `taken`
  std::map<std::string, double> figures;  // "work_ns", "span_ns", "tasks", …
};

// Returns an empty text, or in one line what is wrong and what to do.
std::string read_trace(const std::string& path, Trace* trace);

// Writes the trace as JSON again, with the functions' names. Returns as read_trace does.
std::string write_trace(const Trace& trace, const std::string& path);

}  // namespace corbel::cli::timeline
