// SPDX-License-Identifier: Apache-2.0
#include "alloc/policy/environment.hpp"

#include <utility>

#include "alloc/policy/container_limit.hpp"
#include "base/memory_amount.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit Options options;

namespace {

// Set when the program makes the choice by a call, which overrides the environment.
constinit std::atomic<bool> huge_pages_chosen{false};
constinit std::atomic<bool> huge_threshold_chosen{false};

// Reads a variable that holds a whole number of at most `most`. False if it is not set, or if its
// value is wrong, which is then reported on stderr.
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

bool is_word(const char* text, const char* word) {
  while (*word != '\0' && *text == *word) ++text, ++word;
  return *text == *word;
}

// Reads Corbel's own variable, which has more choices, or else TBB's.
bool read_huge_pages(HugePages* policy) {
  const char* text = os::environment("CORBEL_HUGE_PAGES");
  if (text != nullptr) {
    if (is_word(text, "never")) return *policy = HugePages::kNever, true;
    if (is_word(text, "auto")) return *policy = HugePages::kAuto, true;
    if (is_word(text, "always")) return *policy = HugePages::kAlways, true;
    Text<256> line;
    line.add("corbel: CORBEL_HUGE_PAGES=").add(text);
    line.add(" is ignored: set it to never, auto or always\n");
    os::write_error(line.data(), line.size());
  }
  std::size_t on = 0;
  if (!read_number("TBB_MALLOC_USE_HUGE_PAGES", 1, &on)) return false;
  *policy = on != 0 ? HugePages::kAlways : HugePages::kAuto;
  return true;
}

void read_helper_thread() {
  const char* text = os::environment("CORBEL_HELPER_THREAD");
  if (text == nullptr) return;
  for (const auto& [word, when] :
       {std::pair("never", HelperThread::kNever), std::pair("auto", HelperThread::kAuto),
        std::pair("always", HelperThread::kAlways)}) {
    if (!is_word(text, word)) continue;
    options.helper_thread.store(when, std::memory_order_relaxed);  // relaxed: options.hpp
    return;
  }
  Text<256> line;
  line.add("corbel: CORBEL_HELPER_THREAD=").add(text);
  line.add(" is ignored: set it to never, auto or always\n");
  os::write_error(line.data(), line.size());
}

void read_report() {
  const char* text = os::environment("CORBEL_STATS");
  if (text == nullptr) return;
  for (const auto& [word, report] : {std::pair("0", Report::kNone), std::pair("1", Report::kText),
                                     std::pair("json", Report::kJson)}) {
    if (!is_word(text, word)) continue;
    options.report_at_exit.store(report, std::memory_order_relaxed);  // relaxed: options.hpp
    return;
  }
  Text<256> line;
  line.add("corbel: CORBEL_STATS=").add(text).add(" is ignored: set it to 0, 1 or json\n");
  os::write_error(line.data(), line.size());
}

// Reads a variable that holds an amount of memory. False like read_number().
bool read_bytes(const char* name, MemoryAmount* amount) {
  const char* text = os::environment(name);
  if (text == nullptr) return false;
  if (parse_memory_amount(text, amount)) return true;
  Text<256> line;
  line.add("corbel: ").add(name).add("=").add(text).add(" is ignored: set it to ");
  line.add(kMemoryAmountForms).add("\n");
  os::write_error(line.data(), line.size());
  return false;
}

}  // namespace

// relaxed throughout: see options.hpp
void read_options() {
  std::size_t n = 0;
  read_report();
  read_helper_thread();
  if (read_number("CORBEL_PURGE_DELAY", 1U << 30, &n)) {
    options.purge_delay.store(std::uint32_t(n), std::memory_order_relaxed);
  }
  HugePages policy = HugePages::kAuto;
  if (!huge_pages_chosen.load(std::memory_order_relaxed) && read_huge_pages(&policy)) {
    options.huge_pages.store(policy, std::memory_order_relaxed);
  }
  if (!huge_threshold_chosen.load(std::memory_order_relaxed) &&
      read_number("TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD", PTRDIFF_MAX, &n)) {
    options.huge_threshold.store(n, std::memory_order_relaxed);
  }
  MemoryAmount amount;
  if (read_bytes("CORBEL_HEAP_LIMIT", &amount)) {
    container_limit.ask_soft(amount, LimitSource::kEnvironment);
  }
  if (read_bytes("CORBEL_HEAP_HARD_LIMIT", &amount)) {
    container_limit.ask_hard(amount, LimitSource::kEnvironment);
  }
}

void set_huge_pages(HugePages policy) {
  huge_pages_chosen.store(true, std::memory_order_relaxed);
  options.huge_pages.store(policy, std::memory_order_relaxed);
}

void set_huge_threshold(std::size_t bytes) {
  huge_threshold_chosen.store(true, std::memory_order_relaxed);
  options.huge_threshold.store(bytes, std::memory_order_relaxed);
}

}  // namespace corbel::alloc
