// SPDX-License-Identifier: Apache-2.0
#include "alloc/options.hpp"

#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit Options options;

namespace {

// Set when the program has chosen by a call, which then wins over the environment.
constinit std::atomic<bool> huge_pages_chosen{false};
constinit std::atomic<bool> huge_threshold_chosen{false};

// A whole number, or false with a line on stderr.
bool read_number(const char* name, std::size_t most, std::size_t* value) {
  const char* text = os::environment(name);
  if (text == nullptr) return false;
  std::size_t n = 0;
  const char* p = text;
  while (*p >= '0' && *p <= '9' && n <= most) n = n * 10 + std::size_t(*p++ - '0');
  if (p != text && *p == '\0' && n <= most) {
    *value = n;
    return true;
  }
  Text<256> line;
  line.add("corbel: ")
      .add(name)
      .add("=")
      .add(text)
      .add(" is ignored: set it to a number from 0 to ");
  line.add_decimal(most).add("\n");
  os::write_error(line.data(), line.size());
  return false;
}

}  // namespace

// relaxed throughout: see options.hpp
void read_options() {
  std::size_t n = 0;
  if (read_number("CORBEL_STATS", 1, &n)) {
    options.report_at_exit.store(n != 0, std::memory_order_relaxed);
  }
  if (read_number("CORBEL_PURGE_DELAY", 1U << 30, &n)) {
    options.purge_delay.store(std::uint32_t(n), std::memory_order_relaxed);
  }
  if (!huge_pages_chosen.load(std::memory_order_relaxed) &&
      read_number("TBB_MALLOC_USE_HUGE_PAGES", 1, &n)) {
    options.huge_pages.store(n != 0, std::memory_order_relaxed);
  }
  if (!huge_threshold_chosen.load(std::memory_order_relaxed) &&
      read_number("TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD", PTRDIFF_MAX, &n)) {
    options.huge_threshold.store(n, std::memory_order_relaxed);
  }
}

void set_huge_pages(bool on) {
  huge_pages_chosen.store(true, std::memory_order_relaxed);
  options.huge_pages.store(on, std::memory_order_relaxed);
}

void set_huge_threshold(std::size_t bytes) {
  huge_threshold_chosen.store(true, std::memory_order_relaxed);
  options.huge_threshold.store(bytes, std::memory_order_relaxed);
}

}  // namespace corbel::alloc
