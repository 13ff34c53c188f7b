// SPDX-License-Identifier: Apache-2.0
// The main program of every kernel: description, arguments, threads, memory figures, the result.
#include "frame.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

namespace bench {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

template <typename List, typename Show>
std::string list(const List& items, Show show) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + show(item);
  return out + "]";
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void describe() {
  std::string out = "{\"name\": " + quoted(kernel.name) + ", \"title\": " + quoted(kernel.title);
  out += ", \"what\": " + quoted(kernel.what) + ", \"group\": " + quoted(kernel.group);
  out += ", \"figure\": " + quoted(kernel.figure) + ", \"metric\": " + quoted(kernel.metric);
  out += ", \"unit\": " + quoted(kernel.unit) + ", \"higher_is_better\": ";
  out += kernel.higher_is_better ? "true" : "false";
  out += ", \"plot\": " + quoted(kernel.plot) + ", \"watches\": ";
  out += kernel.watches ? "true" : "false";
  out += ", \"threads\": ";
  const auto count = [](unsigned n) { return std::to_string(n); };
  out += list(kernel.threads, count) + ", \"brief_threads\": ";
  out += list(kernel.brief_threads, count) + ", \"cases\": ";
  out += list(kernel.cases, [](const Case& c) {
    return "{\"label\": " + quoted(c.label) + ", \"quick\": " + quoted(c.quick) +
           ", \"normal\": " + quoted(c.normal) + ", \"full\": " + quoted(c.full) +
           ", \"allocators\": " + list(c.allocators, quoted) +
           ", \"apis\": " + list(c.apis, quoted) + "}";
  });
  out += ", \"variants\": " + list(kernel.variants, [](const Variant& v) {
           return "{\"api\": " + quoted(v.api) + ", \"name\": " + quoted(v.name) + "}";
         });
  out += ", \"allocators\": " + list(kernel.allocators, quoted) + "}";
  std::puts(out.c_str());
}

void print(const Result& result, std::uint64_t peak_rss, std::uint64_t peak_vm,
           const rusage& used) {
  std::string out = "{\"value\": " + number(result.value);
  out += ", \"seconds\": " + number(result.seconds);
  char checksum[24];
  std::snprintf(checksum, sizeof checksum, "%016" PRIx64, result.checksum);
  out += ", \"checksum\": " + quoted(checksum);
  out += ", \"peak_rss_kib\": " + std::to_string(peak_rss);
  out += ", \"peak_vm_kib\": " + std::to_string(peak_vm);
  out += ", \"minor_faults\": " + std::to_string(used.ru_minflt);
  out += ", \"major_faults\": " + std::to_string(used.ru_majflt);
  out += ", \"extra\": {";
  const char* comma = "";
  for (const auto& [name, value] : result.extra) {
    out += comma + quoted(name) + ": " + number(value);
    comma = ", ";
  }
  out += "}, \"series\": {";
  comma = "";
  for (const auto& [name, values] : result.series) {
    out += comma + quoted(name) + ": " + list(values, number);
    comma = ", ";
  }
  std::puts((out + "}}").c_str());
}

cpu_set_t usable_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
  return set;
}

// Read once, before any thread is pinned: a pinned thread sees only its own core.
const cpu_set_t kUsable = usable_set();

}  // namespace

unsigned usable_cores() { return static_cast<unsigned>(CPU_COUNT(&kUsable)); }

void pin(unsigned index, unsigned count) {
  if (count > usable_cores()) return;
  unsigned seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &kUsable) || seen++ != index) continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a hint, which may be refused
    return;
  }
}

std::uint64_t status_kib(const char* name) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[256];
  unsigned long long value = 0;
  const std::size_t length = std::strlen(name);
  while (std::fgets(line, sizeof line, file)) {
    if (std::strncmp(line, name, length) == 0 && line[length] == ':') {
      value = std::strtoull(line + length + 1, nullptr, 10);
      break;
    }
  }
  std::fclose(file);
  return value;
}

}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  if (argc == 2 && std::strcmp(argv[1], "--describe") == 0) {
    describe();
    return 0;
  }
  Arguments arguments(argc, argv);
  Result result;
  try {
    kernel.run(arguments, result);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", kernel.name.c_str(), error.what());
    return 1;
  }
  const std::string unknown = arguments.unknown();
  if (!unknown.empty()) usage_error("there is no argument '" + unknown + "'");
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  print(result, status_kib("VmHWM"), status_kib("VmPeak"), used);
}
