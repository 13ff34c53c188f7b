// SPDX-License-Identifier: Apache-2.0
#include "profile/hot_spots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "profile/sort_down.hpp"
#include "profile/time_stack.hpp"

namespace corbel::cli {
namespace {

constexpr std::size_t kStacks = 5;  // of a spot
constexpr std::array<std::pair<const char*, const char*>, kTimeTypes> kTypes = {{
    {"cpu", "nanoseconds"},
    {"wait", "nanoseconds"},
    {"faults", "count"},
    {"sharing", "count"},
    {"allocations", "count"},
    {"allocated", "bytes"},
    {"brief", "count"},
    {"handed_over", "count"},
    {"received", "count"},
    {"growths", "count"},
    {"copied", "bytes"},
}};

bool is_in_time(Kind kind) { return kind != Kind::kSharing && kind != Kind::kWait; }

bool is_spot(Kind kind) { return kind <= Kind::kSharing; }

// A comment "key=value".
std::string setting(const Profile& profile, const std::string& key) {
  for (const Texts::Id comment : profile.comments) {
    const std::string& text = profile.texts[comment];
    if (text.rfind(key + "=", 0) == 0) return text.substr(key.size() + 1);
  }
  return {};
}

bool has_comment(const Profile& profile, std::string_view text) {
  return std::any_of(profile.comments.begin(), profile.comments.end(),
                     [&](Texts::Id comment) { return profile.texts[comment] == text; });
}

// The sum of the comments "key=number" of all processes.
std::int64_t sum_of(const Profile& profile, const std::string& key) {
  std::int64_t sum = 0;
  for (const Texts::Id comment : profile.comments) {
    const std::string& text = profile.texts[comment];
    if (text.rfind(key + "=", 0) == 0) {
      sum += std::strtoll(text.c_str() + key.size() + 1, nullptr, 10);
    }
  }
  return sum;
}

std::vector<std::string> gaps_of(const Profile& profile) {
  std::vector<std::string> gaps;
  const auto add = [&](const char* key, std::string_view what) {
    const std::int64_t number = sum_of(profile, std::string("corbel.") + key);
    if (number > 0) gaps.push_back(fmt::format("{} {}", number, what));
  };
  add("threads_without_timer", "threads are missing: the system had no timer for them");
  add("threads_that_block_the_signal",
      "threads block the signal of the samples, so that time of theirs is missing");
  add("lost_samples", "samples have no stack or are missing: there was no memory for them");
  const auto add_if = [&](const char* comment, const char* what) {
    if (has_comment(profile, comment)) gaps.push_back(what);
  };
  add_if("corbel.waits=refused",
         "the system did not show which threads wait, as after a change of the user: waits are "
         "missing");
  add_if("corbel.ended_early=signal",
         "the program took over the signal of the samples; what it did after that is missing");
  add_if("corbel.ended_early=main",
         "the main thread left by pthread_exit; what other threads did after that is missing");
  return gaps;
}

std::string thread_of(const Profile& profile, const Sample& sample) {
  const std::string& thread = profile.label(sample, "thread");
  const std::string& process = profile.label(sample, "process");
  // One that ended at once has no name: " (123)".
  const std::string name = thread.empty()     ? "(unknown)"
                           : thread[0] == ' ' ? "thread" + thread
                                              : thread;
  return process.empty() ? name : process + ": " + name;
}

std::int64_t number_of(const Profile& profile, const Sample& sample, std::string_view key) {
  for (const Label& label : sample.labels) {
    if (profile.texts[label.key] == key) return label.number;
  }
  return 0;
}

using SiteKey = std::pair<std::string, std::string>;  // the place as text, and what grows

// One access to a cache line, summed up over samples.
struct LineAccess {
  SiteKey site;
  Access access;
  std::size_t sample = 0;  // one of them
};

struct Line {
  std::vector<LineAccess> accesses;
  std::int64_t samples = 0;
};

class Evaluation {
 public:
  explicit Evaluation(const Profile& profile) : profile_(profile) {
    result_.system_malloc = setting(profile, "corbel.malloc") == "system";
    result_.timer = setting(profile, "corbel.timer");
    result_.fault_cost = std::strtoll(setting(profile, "corbel.fault_cost").c_str(), nullptr, 10);
    result_.period = profile.period;
    result_.duration = profile.duration_ns;
    result_.gaps = gaps_of(profile);
  }

  HotSpots take() {
    for (std::size_t i = 0; i < profile_.samples.size(); ++i) add(i);
    all_others_are_added_ = true;
    for (const std::size_t number : unclear_) add(number);
    add_lines();
    finish_threads();
    finish_spots();
    for (auto& [key, site] : sites_) result_.sites.push_back(std::move(site));
    return std::move(result_);
  }

 private:
  struct Draft {
    Spot spot;
    std::map<std::string, std::int64_t> tasks;
    std::map<std::vector<std::uint32_t>, std::pair<std::int64_t, std::size_t>> stacks;
  };

  Draft& draft(Kind kind, const SiteKey& key, const Place& place) {
    const auto [found, added] = drafts_.try_emplace({kind, key});
    if (added) {
      found->second.spot.kind = kind;
      found->second.spot.place = place;
      found->second.spot.container = key.second;
    }
    return found->second;
  }

  void add(std::size_t number) {
    const Sample& sample = profile_.samples[number];
    TimeStack stack = read_time_stack(profile_, sample);
    const Place place =
        stack.places.empty() ? Place{"[no stack]", {}, {}, 0, false} : stack.places[stack.site];
    const SiteKey key{text_of(place), stack.container};
    if (stack.is_unclear) {
      // After all others, whose names say what the place does.
      if (!all_others_are_added_) return unclear_.push_back(number);
      if (drafts_.count({Kind::kFree, key}) > drafts_.count({Kind::kAllocation, key})) {
        stack.function = MemoryFunction::kFree;
      }
    }
    const std::string thread = thread_of(profile_, sample);
    const auto& values = sample.values;
    result_.cpu += values[kCpu];

    const auto spend = [&](Kind kind, std::int64_t cost, std::int64_t count) {
      threads_[thread][static_cast<std::size_t>(kind)] += cost;
      if (!is_spot(kind)) return;
      Draft& target = draft(kind, key, place);
      target.spot.cost += cost;
      target.spot.count += count;
      if (cost > 0 && is_memory(kind) && kind != Kind::kPageFault) {
        if (stack.slow == SlowWork::kMerging) target.spot.merging += cost;
        if (stack.slow == SlowWork::kSystem) target.spot.system += cost;
      }
      target.spot.threads[thread] += cost;
      if (const std::string& task = profile_.label(sample, "task"); !task.empty()) {
        target.tasks[task] += cost;
      }
      // Time that is taken away from a spot has no stack of its own.
      if (cost < 0) return;
      auto& known = target.stacks[sample.stack];
      known.first += cost;
      known.second = number;
    };
    for (const TimeType type : {kCpu, kWaited}) {
      if (values[type] != 0) spend(kind_of_value(stack, type), values[type], 0);
    }
    if (values[kFaults] != 0) {
      const std::int64_t cost = values[kFaults] * result_.fault_cost;
      const Kind kind = kind_of_value(stack, kFaults);
      if (kind == Kind::kPageFault) {
        spend(kind, cost, values[kFaults]);
        // The processor's time includes that of the faults.
        spend(kind_of_value(stack, kCpu), -cost, 0);
      }
    }
    count(key, place, thread, values);
    if (values[kShared] != 0) access(number, key, place, thread);
  }

  void count(const SiteKey& key, const Place& place, const std::string& thread,
             const std::vector<std::int64_t>& values) {
    if (std::all_of(values.begin() + kAllocations, values.end(),
                    [](std::int64_t value) { return value == 0; })) {
      return;
    }
    const auto [found, added] = sites_.try_emplace(key);
    Site& site = found->second;
    if (added) {
      site.place = place;
      site.container = key.second;
    }
    site.counts.allocations += values[kAllocations];
    site.counts.bytes += values[kAllocated];
    site.counts.brief += values[kBrief];
    site.counts.handed_over += values[kHandedOver];
    site.counts.received += values[kReceived];
    site.counts.growths += values[kGrowths];
    site.counts.copied += values[kCopied];
    if (values[kReceived] != 0) site.counts.receivers[thread] += values[kReceived];
  }

  void access(std::size_t number, const SiteKey& site, const Place& place,
              const std::string& thread) {
    const Sample& sample = profile_.samples[number];
    const std::int64_t first = number_of(profile_, sample, "word");
    const std::int64_t last =
        first + std::max<std::int64_t>(number_of(profile_, sample, "size"), 1) - 1;
    const std::int64_t count = sample.values[kShared];
    // A line of another process has the same address only by chance.
    Line& line = lines_[{profile_.label(sample, "process"), number_of(profile_, sample, "line")}];
    line.samples += count;
    auto found = std::find_if(line.accesses.begin(), line.accesses.end(), [&](const auto& each) {
      return each.site == site && each.access.thread == thread;
    });
    if (found == line.accesses.end()) {
      found = line.accesses.insert(found, LineAccess{site, {}, number});
      found->access.place = place;
      found->access.thread = thread;
      found->access.first = first;
      found->access.last = last;
      found->access.block = number_of(profile_, sample, "block");
    }
    Access& access = found->access;
    access.samples += count;
    access.writes += number_of(profile_, sample, "writes");
    access.first = std::min(access.first, first);
    access.last = std::max(access.last, last);
  }

  // Lines that the same places use are one spot: the elements of one array.
  void add_lines() {
    std::vector<Line*> sorted;
    for (auto& [key, line] : lines_) sorted.push_back(&line);
    sort_down(sorted, [](const Line* line) { return line->samples; });
    std::map<std::set<SiteKey>, Spot> groups;
    for (Line* line : sorted) {
      std::set<SiteKey> sites;
      for (const LineAccess& each : line->accesses) sites.insert(each.site);
      Spot& spot = groups[sites];
      const std::int64_t cost = line->samples * result_.period;
      spot.cost += cost;
      spot.count += line->samples;
      ++spot.lines;
      for (const LineAccess& each : line->accesses) {
        const std::int64_t part = each.access.samples * result_.period;
        spot.threads[each.access.thread] += part;
        threads_[each.access.thread][static_cast<std::size_t>(Kind::kSharing)] += part;
      }
      if (spot.lines > 1) continue;
      spot.kind = Kind::kSharing;
      sort_down(line->accesses, [](const LineAccess& each) {
        return std::pair(each.access.writes, each.access.samples);
      });
      spot.place = line->accesses.front().access.place;
      for (const LineAccess& each : line->accesses) {
        spot.accesses.push_back(each.access);
        if (spot.stacks.size() == kStacks) continue;
        spot.stacks.push_back({each.access.samples * result_.period,
                               read_time_stack(profile_, profile_.samples[each.sample]).places});
      }
    }
    for (auto& [sites, spot] : groups) result_.spots.push_back(std::move(spot));
  }

  void finish_threads() {
    const std::int64_t none = 0;
    for (auto& [name, by_kind] : threads_) {
      ThreadTime thread;
      thread.name = name;
      for (std::size_t i = 0; i < kKinds; ++i) {
        thread.by_kind[i] = std::max(by_kind[i], none);
        result_.all.by_kind[i] += thread.by_kind[i];
      }
      result_.threads.push_back(std::move(thread));
    }
    sort_down(result_.threads, [](const ThreadTime& thread) { return thread.total(); });
  }

  void finish_spots() {
    for (auto& [key, each] : drafts_) {
      Spot& spot = each.spot;
      result_.merging += spot.merging;
      result_.system += spot.system;
      if (spot.cost <= 0) continue;
      // The time of page faults is taken off the cost alone.
      spot.merging = std::min(spot.merging, spot.cost);
      spot.system = std::min(spot.system, spot.cost);
      const auto largest =
          std::max_element(each.tasks.begin(), each.tasks.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (largest != each.tasks.end() && 2 * largest->second > spot.cost) {
        spot.task = largest->first;
      }
      if (const auto site = sites_.find(key.second); site != sites_.end()) {
        spot.counts = site->second.counts;
      }
      std::vector<std::pair<std::int64_t, std::size_t>> stacks;
      for (const auto& [stack, known] : each.stacks) stacks.push_back(known);
      sort_down(stacks, [](const auto& stack) { return stack.first; });
      for (std::size_t i = 0; i < std::min(stacks.size(), kStacks); ++i) {
        spot.stacks.push_back(
            {stacks[i].first,
             read_time_stack(profile_, profile_.samples[stacks[i].second]).places});
      }
      spot.more_stacks = stacks.size() - spot.stacks.size();
      result_.spots.push_back(std::move(spot));
    }
    sort_down(result_.spots, [](const Spot& spot) { return spot.cost; });
  }

  const Profile& profile_;
  HotSpots result_;
  std::vector<std::size_t> unclear_;  // samples
  bool all_others_are_added_ = false;
  std::map<std::string, std::array<std::int64_t, kKinds>> threads_;
  std::map<std::pair<Kind, SiteKey>, Draft> drafts_;
  std::map<SiteKey, Site> sites_;
  std::map<std::pair<std::string, std::int64_t>, Line> lines_;
};

}  // namespace

std::string_view name_of(Kind kind) {
  static constexpr std::array<std::string_view, kKinds> kNames = {
      "allocation",     "free", "realloc",       "realloc copy", "growth", "page fault",
      "allocator lock", "lock", "false sharing", "program",      "wait",   "start"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_memory(Kind kind) { return kind <= Kind::kAllocatorLock; }

std::string text_of(const Place& place) {
  if (!place.file.empty()) {
    return fmt::format("{} {}:{}", place.function, file_name(place.file), place.line);
  }
  const std::string module = file_name(place.module);
  // A function without a name has the module's.
  const bool named = module.empty() || place.function.find(module) != std::string::npos;
  return named ? place.function : fmt::format("{} ({})", place.function, module);
}

std::int64_t ThreadTime::total() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (is_in_time(static_cast<Kind>(i))) sum += by_kind[i];
  }
  return sum;
}

std::int64_t ThreadTime::memory() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (is_memory(static_cast<Kind>(i))) sum += by_kind[i];
  }
  return sum;
}

bool is_time_profile(const Profile& profile) {
  if (profile.types.size() != kTypes.size()) return false;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (profile.texts[profile.types[i].type] != kTypes[i].first ||
        profile.texts[profile.types[i].unit] != kTypes[i].second) {
      return false;
    }
  }
  return true;
}

void label_kinds(Profile& profile) {
  std::vector<Sample> result;
  for (const Sample& sample : profile.samples) {
    const TimeStack stack = read_time_stack(profile, sample);
    std::map<Kind, Sample> parts;
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      if (sample.values[i] == 0) continue;
      const Kind kind = kind_of_value(stack, static_cast<TimeType>(i));
      const auto [part, added] = parts.try_emplace(kind);
      if (added) {
        part->second = {sample.stack, std::vector<std::int64_t>(sample.values.size()),
                        sample.labels};
      }
      part->second.values[i] = sample.values[i];
    }
    for (auto& [kind, part] : parts) {
      profile.set_label(part, "kind", name_of(kind));
      result.push_back(std::move(part));
    }
  }
  profile.samples = std::move(result);
}

HotSpots find_hot_spots(const Profile& profile) { return Evaluation(profile).take(); }

}  // namespace corbel::cli
