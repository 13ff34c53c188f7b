// SPDX-License-Identifier: Apache-2.0
#include "profile/hot_spots_report.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "profile/advice.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr std::int64_t kFewSamples = 10;
// The longest tick of a kernel. A timer signals at most once in one, so that a sample may stand for
// several periods.
constexpr std::int64_t kTick = 10'000'000;
constexpr std::size_t kThreads = 6;  // in the table

struct Column {
  Kind kind;
  const char* title;
};
constexpr Column kColumns[] = {
    {Kind::kAllocation, "alloc"},       {Kind::kFree, "free"},        {Kind::kRealloc, "realloc"},
    {Kind::kReallocCopy, "copies"},     {Kind::kGrowth, "growth"},    {Kind::kPageFault, "faults"},
    {Kind::kAllocatorLock, "its lock"}, {Kind::kLock, "other locks"},
};

std::string thread_table(const HotSpots& all, int terminal) {
  std::string heading = fmt::format("{:>9}{:>9}", "time", "memory");
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    if (all.all.of(column.kind) == 0) continue;
    columns.push_back(column);
    heading += fmt::format("{:>{}}", column.title, column.kind == Kind::kLock ? 13 : 9);
  }
  std::string text = paint(heading + "  thread", Colour::kBold, terminal) + "\n";
  const auto line = [&](const ThreadTime& thread, const std::string& name) {
    const std::int64_t total = thread.total();
    text += fmt::format("{:>9}{:>9}", duration_text(total), percent_text(thread.memory(), total));
    for (const Column& column : columns) {
      text += fmt::format("{:>{}}", percent_text(thread.of(column.kind), total),
                          column.kind == Kind::kLock ? 13 : 9);
    }
    text += "  " + name + "\n";
  };
  std::size_t busy = 0;
  for (const ThreadTime& thread : all.threads) busy += thread.total() > 0;
  for (std::size_t i = 0; busy > 1 && i < std::min(busy, kThreads); ++i) {
    line(all.threads[i], printable(all.threads[i].name));
  }
  line(all.all,
       busy == 1 ? printable(all.threads.front().name) : fmt::format("all {} threads", busy));
  return text;
}

std::string where(const Spot& spot) {
  std::string text = text_of(spot.place);
  if (text.size() > 120) {
    const std::string place = text.substr(text.rfind(' ') + 1);
    text = spot.place.function.substr(0, 100) + "… " + place;
  }
  if (spot.kind == Kind::kSharing) {
    for (const Access& each : spot.accesses) {
      if (text_of(each.place) == text_of(spot.place)) continue;
      text += " and " + text_of(each.place);
      break;
    }
  }
  return printable(text);
}

}  // namespace

std::string system_malloc_note() {
  return "how often each place allocates, blocks of a short life, hand-overs between threads and "
         "reallocs are seen without --malloc=system only";
}

std::string hot_spots_doubt(const HotSpots& all) {
  const std::int64_t waits = all.all.of(Kind::kAllocatorLock) + all.all.of(Kind::kLock);
  const bool by_timers = all.timer == "cpu";
  const char* const help = by_timers
                               ? "give it more work; its timers cannot sample more often than the "
                                 "system's clock ticks, but --timer=perf can"
                               : "give it more work, or sample more often, as with --every 100us";
  if (all.cpu == 0 && waits == 0 && all.spots.empty()) {
    return fmt::format("no samples: the command used too little processor time for one ({})", help);
  }
  const std::int64_t apart = by_timers ? std::max(all.period, kTick) : all.period;
  if (all.cpu < kFewSamples * apart && waits == 0) {
    return fmt::format("only {} of processor time is in the samples, too little for a picture ({})",
                       duration_text(all.cpu), help);
  }
  return {};
}

std::string hot_spots_text(const HotSpots& all, std::size_t count, int terminal) {
  std::string text = verdict_on(all);
  if (!text.empty()) text += "\n\n";
  text += thread_table(all, terminal);
  const std::int64_t total = all.all.total();
  std::size_t shown = 0;
  for (const Spot& spot : all.spots) {
    if (shown == count) break;
    if (shown++ == 0) {
      text += "\n" +
              paint(fmt::format("{:>9}{:>9}  {:<14}  hot spots of memory, worst first", "time",
                                "share", "kind"),
                    Colour::kBold, terminal) +
              "\n";
    }
    text += fmt::format("{:>9}{:>9}  {:<14}  {}\n", duration_text(spot.cost),
                        percent_text(spot.cost, total), name_of(spot.kind), where(spot));
    text += fmt::format("{:20}{}\n", "",
                        paint("→ " + printable(advice_for(spot, all)), Colour::kDim, terminal));
  }
  if (all.spots.size() > shown) {
    text += fmt::format("{:20}and {} more places\n", "", all.spots.size() - shown);
  }
  for (const std::string& gap : all.gaps) text += fmt::format("note: {}\n", gap);
  if (all.system_malloc) text += fmt::format("note: {}\n", system_malloc_note());
  return text;
}

}  // namespace corbel::cli
