// SPDX-License-Identifier: Apache-2.0
// Several profiles in one: of the processes of a command, or of two runs to compare.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "pprof/profile.hpp"

namespace corbel::cli {
namespace {

class Hash {
 public:
  Hash& add(std::uint64_t value) {
    // The multiplier of the 64-bit linear congruential generator of Knuth's MMIX.
    state_ = (state_ ^ value) * 6364136223846793005u;
    state_ ^= state_ >> 32;
    return *this;
  }
  std::size_t value() const { return state_; }

 private:
  std::uint64_t state_ = 1442695040888963407u;
};

struct Hasher {
  std::size_t operator()(const Mapping& m) const {
    return Hash().add(m.start).add(m.limit).add(m.offset).add(m.file).add(m.build_id).value();
  }
  std::size_t operator()(const Function& f) const {
    return Hash().add(f.name).add(f.system_name).add(f.file).add(f.start_line).value();
  }
  std::size_t operator()(const Location& l) const {
    Hash hash;
    hash.add(l.mapping).add(l.address).add(l.folded);
    for (const Line& line : l.lines) hash.add(line.function).add(line.line).add(line.column);
    return hash.value();
  }
};

// What makes two samples the same.
struct Key {
  std::vector<std::uint32_t> stack;
  std::vector<Label> labels;
  bool operator==(const Key&) const = default;
};

struct KeyHasher {
  std::size_t operator()(const Key& key) const {
    Hash hash;
    for (const std::uint32_t location : key.stack) hash.add(location);
    for (const Label& label : key.labels) {
      hash.add(label.key).add(label.text).add(label.number).add(label.unit);
    }
    return hash.value();
  }
};

template <typename T>
std::uint32_t index_in(std::unordered_map<T, std::uint32_t, Hasher>& known, std::vector<T>& list,
                       const T& value) {
  const auto [place, added] = known.try_emplace(value, static_cast<std::uint32_t>(list.size()));
  if (added) list.push_back(value);
  return place->second;
}

// Adds profiles to one, which it makes.
class Merger {
 public:
  // Values are stored from `first` on in samples of `width` values. With `by_line`, places are the
  // same if their functions and lines are.
  void add(const Profile& part, std::size_t first, std::size_t width, bool by_line,
           const std::string& process) {
    const auto text = [&](Texts::Id id) { return result.texts.id(part.texts[id]); };
    std::vector<std::uint32_t> mappings, functions, locations;
    for (Mapping mapping : part.mappings) {
      mapping.file = text(mapping.file);
      mapping.build_id = text(mapping.build_id);
      if (by_line) mapping = {0, 0, 0, mapping.file, 0, true, true, true, true};
      mappings.push_back(index_in(mappings_, result.mappings, mapping));
    }
    for (Function function : part.functions) {
      function.name = text(function.name);
      function.system_name = text(function.system_name);
      function.file = text(function.file);
      if (by_line) function.start_line = 0;
      functions.push_back(index_in(functions_, result.functions, function));
    }
    for (Location location : part.locations) {
      if (location.mapping != kNoMapping) location.mapping = mappings[location.mapping];
      for (Line& line : location.lines) line.function = functions[line.function];
      if (by_line && !location.lines.empty()) location.address = 0;
      locations.push_back(index_in(locations_, result.locations, location));
    }
    for (const Sample& sample : part.samples) {
      Key key;
      for (const std::uint32_t location : sample.stack) key.stack.push_back(locations[location]);
      for (Label label : sample.labels) {
        label.key = text(label.key);
        label.text = text(label.text);
        label.unit = text(label.unit);
        key.labels.push_back(label);
      }
      if (!process.empty()) {
        key.labels.push_back({result.texts.id("process"), result.texts.id(process), 0, 0});
      }
      const auto [place, added] = samples_.try_emplace(key, result.samples.size());
      if (added) {
        result.samples.push_back({key.stack, std::vector<std::int64_t>(width), key.labels});
      }
      std::vector<std::int64_t>& values = result.samples[place->second].values;
      for (std::size_t i = 0; i < sample.values.size(); ++i) values[first + i] += sample.values[i];
    }
    for (const Texts::Id comment : part.comments) result.comments.push_back(text(comment));
  }

  // Takes over what a profile has once.
  void take_header(const Profile& part) {
    const auto text = [&](Texts::Id id) { return result.texts.id(part.texts[id]); };
    for (const ValueType& type : part.types) {
      result.types.push_back({text(type.type), text(type.unit)});
    }
    result.period_type = {text(part.period_type.type), text(part.period_type.unit)};
    result.default_type = text(part.default_type);
    result.drop_frames = text(part.drop_frames);
    result.keep_frames = text(part.keep_frames);
    result.doc_url = text(part.doc_url);
    result.period = part.period;
    result.time_ns = part.time_ns;
    result.duration_ns = part.duration_ns;
  }

  Profile result;

 private:
  std::unordered_map<Mapping, std::uint32_t, Hasher> mappings_;
  std::unordered_map<Function, std::uint32_t, Hasher> functions_;
  std::unordered_map<Location, std::uint32_t, Hasher> locations_;
  std::unordered_map<Key, std::size_t, KeyHasher> samples_;
};

std::string types_of(const Profile& profile) {
  std::string result;
  for (const ValueType& type : profile.types) {
    result +=
        (result.empty() ? "" : ", ") + profile.texts[type.type] + "/" + profile.texts[type.unit];
  }
  return result;
}

void check_types(const Profile& first, const Profile& other) {
  if (types_of(first) == types_of(other)) return;
  throw std::runtime_error(
      fmt::format("the profiles measure different things: {}; and {} (give profiles of one kind)",
                  types_of(first), types_of(other)));
}

std::string process_of(const Profile& profile, std::size_t number) {
  const std::string command = profile.fact("command"), pid = profile.fact("pid");
  const std::string program = command.substr(0, command.find(' '));
  const std::string name = program.substr(program.rfind('/') + 1);
  return fmt::format("{} ({})", name.empty() ? "process" : name,
                     pid.empty() ? std::to_string(number) : pid);
}

}  // namespace

Profile merge(const std::vector<Profile>& parts) {
  Merger merger;
  if (parts.empty()) return std::move(merger.result);
  merger.take_header(parts.front());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check_types(parts.front(), parts[i]);
    merger.add(parts[i], 0, parts[i].types.size(), false,
               parts.size() > 1 ? process_of(parts[i], i + 1) : std::string());
  }
  take_time(merger.result, parts);
  return std::move(merger.result);
}

void take_time(Profile& profile, const std::vector<Profile>& parts) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const Profile& part : parts) {
    spans.emplace_back(part.time_ns, part.time_ns + part.duration_ns);
  }
  if (spans.empty()) return;
  std::sort(spans.begin(), spans.end());
  profile.time_ns = spans.front().first;
  profile.duration_ns = 0;
  std::int64_t covered = profile.time_ns;
  for (const auto& [start, end] : spans) {
    profile.duration_ns += std::max<std::int64_t>(0, end - std::max(start, covered));
    covered = std::max(covered, end);
  }
}

Profile side_by_side(const Profile& before, const Profile& after) {
  check_types(before, after);
  Merger merger;
  merger.take_header(after);
  const std::size_t count = after.types.size();
  merger.add(before, 0, 2 * count, true, {});
  merger.result.comments.clear();
  merger.add(after, count, 2 * count, true, {});
  return std::move(merger.result);
}

}  // namespace corbel::cli
