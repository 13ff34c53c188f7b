// SPDX-License-Identifier: Apache-2.0
// A profile in memory, as pprof's profile.proto describes it. Ids of the file are indices here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace corbel::cli {

// Texts of a profile, each stored once. Text 0 is empty.
class Texts {
 public:
  using Id = std::uint32_t;

  Texts() { id(""); }
  // Ids hold for one table: a copy would have keys that point into the original.
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  Texts(Texts&&) = default;
  Texts& operator=(Texts&&) = default;

  Id id(std::string_view text);
  const std::string& operator[](Id id) const { return *list_[id]; }
  std::size_t size() const { return list_.size(); }

 private:
  std::unordered_map<std::string, Id> ids_;
  std::vector<const std::string*> list_;  // keys of ids_, which stay where they are
};

struct ValueType {
  Texts::Id type = 0, unit = 0;
  bool operator==(const ValueType&) const = default;
};

struct Label {
  Texts::Id key = 0, text = 0;
  std::int64_t number = 0;
  Texts::Id unit = 0;
  bool operator==(const Label&) const = default;
};

// A file, or another range of addresses, that was mapped in the process.
struct Mapping {
  std::uint64_t start = 0, limit = 0, offset = 0;
  Texts::Id file = 0, build_id = 0;
  bool has_functions = false, has_files = false, has_lines = false, has_inlined = false;
  bool operator==(const Mapping&) const = default;
};

struct Function {
  Texts::Id name = 0, system_name = 0, file = 0;
  std::int64_t start_line = 0;
  bool operator==(const Function&) const = default;
};

struct Line {
  std::uint32_t function = 0;
  std::int64_t line = 0, column = 0;
  bool operator==(const Line&) const = default;
};

inline constexpr std::uint32_t kNoMapping = ~0u;

// A place in the code. An inlined call makes several lines of it, the innermost first.
struct Location {
  std::uint32_t mapping = kNoMapping;
  std::uint64_t address = 0;
  std::vector<Line> lines;
  bool folded = false;
  bool operator==(const Location&) const = default;
};

struct Sample {
  std::vector<std::uint32_t> stack;  // locations, innermost first
  std::vector<std::int64_t> values;  // one for each of the profile's types
  std::vector<Label> labels;
};

struct Profile {
  Texts texts;
  std::vector<ValueType> types;
  std::vector<Sample> samples;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  std::vector<Function> functions;
  std::vector<Texts::Id> comments;
  Texts::Id drop_frames = 0, keep_frames = 0, default_type = 0, doc_url = 0;
  std::int64_t time_ns = 0, duration_ns = 0, period = 0;
  ValueType period_type;

  // The text of the label `key`; empty when the sample has none.
  const std::string& label(const Sample& sample, std::string_view key) const;
  // Sets the label `key`, in place of one that is there.
  void set_label(Sample& sample, std::string_view key, std::string_view text);
  // The type that a viewer shows first.
  std::size_t default_index() const;
  // What follows "key: " in a comment; empty when there is none.
  std::string fact(std::string_view key) const;
};

// What follows the last slash of a path.
inline std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The samples of all `parts`, those with equal stacks and labels added up. Where there are several
// parts, each sample gets the label "process". Throws std::runtime_error when the types of the
// values differ.
Profile merge(const std::vector<Profile>& parts);

// Gives `profile` the start of the first of `parts`, and as duration the time during which at least
// one of them ran.
void take_time(Profile& profile, const std::vector<Profile>& parts);

// The samples of both, with the values of `before` in the first half of the values and those of
// `after` in the second. Functions and lines decide what is the same place, not addresses: these
// differ between two runs and two builds. Throws like merge.
Profile side_by_side(const Profile& before, const Profile& after);

}  // namespace corbel::cli
