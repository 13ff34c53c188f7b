// SPDX-License-Identifier: Apache-2.0
#include "run/settings.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "alloc/policy/limit_amount.hpp"
#include "base/memory_amount.hpp"

namespace corbel::cli {
namespace {

std::string in_units(std::uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double amount = double(bytes);
  std::size_t i = 0;
  while (amount >= 1024 && i + 1 < std::size(units)) {
    amount /= 1024;
    ++i;
  }
  return i == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", amount, units[i]);
}

Setting amount(std::string id, std::string name, std::optional<std::uint64_t> bytes,
               std::string source) {
  return {std::move(id), std::move(name), bytes ? in_units(*bytes) : "none", bytes,
          std::move(source)};
}

// The setting of a variable that is never, auto or always.
Setting choice(std::string id, std::string name, const std::string& variable,
               const Variables& variables, std::vector<std::string>& notes) {
  const auto text = variables(variable);
  if (!text) return {std::move(id), std::move(name), "auto", {}, "default"};
  for (const char* word : {"never", "auto", "always"}) {
    if (*text == word) return {std::move(id), std::move(name), *text, {}, variable};
  }
  notes.push_back(fmt::format("{}={} is ignored: it is never, auto or always", variable, *text));
  return {std::move(id), std::move(name), "auto", {}, "default"};
}

Setting huge_pages(const Variables& variables, std::vector<std::string>& notes) {
  Setting setting = choice("huge_pages", "huge pages", kHugePagesVariable, variables, notes);
  if (setting.source != "default") return setting;
  // The older name applies only when the newer one is not set.
  const char* const older = "TBB_MALLOC_USE_HUGE_PAGES";
  const auto text = variables(older);
  if (text == "0" || text == "1") {
    setting.value = *text == "1" ? "always" : "auto";
    setting.source = older;
  } else if (text) {
    notes.push_back(fmt::format("{}={} is ignored: it is 0 or 1", older, *text));
  }
  return setting;
}

Setting limit(std::string id, std::string name, const std::string& variable,
              MemoryAmount by_default,
              std::size_t (*resolve)(const MemoryAmount&, const os::MemoryGrant&),
              const os::MemoryGrant& grant, const Variables& variables,
              std::vector<std::string>& notes) {
  MemoryAmount asked = by_default;
  std::string source = "default";
  if (const auto text = variables(variable)) {
    if (parse_memory_amount(text->c_str(), &asked)) {
      source = fmt::format("{}={}", variable, *text);
    } else {
      notes.push_back(
          fmt::format("{}={} is ignored: {}", variable, *text, memory_amount_problem(*text)));
    }
  }
  const bool contained = grant.limit != SIZE_MAX;
  if (asked.kind == MemoryAmount::Kind::kShare) {
    source += contained ? " of the container's limit" : " of the machine's memory";
  }
  if (asked.kind == MemoryAmount::Kind::kAuto) {
    source += contained ? ", from the container's limit" : ", no container's limit to go by";
  }
  const std::size_t bytes = resolve(asked, grant);
  return amount(std::move(id), std::move(name),
                bytes != 0 ? std::optional<std::uint64_t>(bytes) : std::nullopt, std::move(source));
}

}  // namespace

std::string memory_amount_problem(const std::string& text) {
  MemoryAmount amount;
  if (parse_memory_amount(text.c_str(), &amount)) return {};
  return fmt::format("{} expected, not '{}'", kMemoryAmountForms, text);
}

std::vector<Setting> read_settings(const ProcessLimits& limits, const Variables& variables,
                                   std::vector<std::string>& notes) {
  const os::MemoryGrant& grant = limits.grant;
  std::vector<Setting> settings;
  settings.push_back(limit("heap_limit", "soft limit", kHeapLimitVariable,
                           {MemoryAmount::Kind::kAuto, 0}, alloc::soft_limit_of, grant, variables,
                           notes));
  settings.push_back(limit("heap_hard_limit", "hard limit", kHardLimitVariable,
                           {MemoryAmount::Kind::kBytes, 0}, alloc::hard_limit_of, grant, variables,
                           notes));
  const bool contained = grant.limit != SIZE_MAX;
  settings.push_back(amount("container_limit", "container's limit",
                            contained ? std::optional<std::uint64_t>(grant.limit) : std::nullopt,
                            limits.limit_source));
  settings.push_back(
      amount("physical_memory", "machine's memory",
             grant.physical != 0 ? std::optional<std::uint64_t>(grant.physical) : std::nullopt,
             limits.physical_source));
  settings.push_back({"pressure", "memory pressure", limits.pressure, {}, limits.pressure_source});
  if (limits.has_huge_pages) settings.push_back(huge_pages(variables, notes));
  settings.push_back(
      choice("helper_thread", "helper thread", kHelperThreadVariable, variables, notes));
  return settings;
}

}  // namespace corbel::cli
