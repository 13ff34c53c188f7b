// SPDX-License-Identifier: Apache-2.0
// The messages of profile.proto:
// https://github.com/google/pprof/blob/main/proto/profile.proto
#include <stdexcept>
#include <unordered_map>

#include "pprof/profile_file.hpp"
#include "pprof/wire.hpp"

namespace corbel::cli {
namespace {

// Field numbers, by message.
namespace profile_field {
enum : unsigned {
  kSampleType = 1,
  kSample,
  kMapping,
  kLocation,
  kFunction,
  kText,
  kDropFrames,
  kKeepFrames,
  kTime,
  kDuration,
  kPeriodType,
  kPeriod,
  kComment,
  kDefaultType,
  kDocUrl
};
}
namespace mapping_field {
enum : unsigned {
  kId = 1,
  kStart,
  kLimit,
  kOffset,
  kFile,
  kBuildId,
  kHasFunctions,
  kHasFiles,
  kHasLines,
  kHasInlined
};
}

// Ids of the file are arbitrary numbers other than 0.
using Ids = std::unordered_map<std::uint64_t, std::uint32_t>;

[[noreturn]] void dangling() { throw std::runtime_error("malformed"); }

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  Profile decode() {
    // What refers to others may come before them: texts first, then ids from the bottom up.
    read_texts();
    each(profile_field::kMapping, [&](WireReader r) { read_mapping(r); });
    each(profile_field::kFunction, [&](WireReader r) { read_function(r); });
    each(profile_field::kLocation, [&](WireReader r) { read_location(r); });
    read_rest();
    for (const Sample& sample : profile_.samples) {
      if (sample.values.size() != profile_.types.size()) dangling();
    }
    return std::move(profile_);
  }

 private:
  template <typename Read>
  void each(unsigned field, Read&& read) {
    for (WireReader reader(bytes_); reader.next();) {
      if (reader.field() == field) read(WireReader(reader.bytes()));
    }
  }

  void read_texts() {
    for (WireReader reader(bytes_); reader.next();) {
      if (reader.field() == profile_field::kText) {
        texts_.push_back(profile_.texts.id(reader.bytes()));
      }
    }
  }

  Texts::Id text(std::uint64_t index) const {
    if (index == 0 && texts_.empty()) return 0;
    if (index >= texts_.size()) dangling();
    return texts_[index];
  }

  static std::uint32_t index_of(const Ids& ids, std::uint64_t id) {
    const auto found = ids.find(id);
    if (found == ids.end()) dangling();
    return found->second;
  }

  ValueType read_type(WireReader reader) const {
    ValueType type;
    while (reader.next()) {
      if (reader.field() == 1) type.type = text(reader.number());
      if (reader.field() == 2) type.unit = text(reader.number());
    }
    return type;
  }

  void read_mapping(WireReader reader) {
    Mapping mapping;
    std::uint64_t id = 0;
    while (reader.next()) {
      const std::uint64_t number = reader.number();
      switch (reader.field()) {
        case mapping_field::kId:
          id = number;
          break;
        case mapping_field::kStart:
          mapping.start = number;
          break;
        case mapping_field::kLimit:
          mapping.limit = number;
          break;
        case mapping_field::kOffset:
          mapping.offset = number;
          break;
        case mapping_field::kFile:
          mapping.file = text(number);
          break;
        case mapping_field::kBuildId:
          mapping.build_id = text(number);
          break;
        case mapping_field::kHasFunctions:
          mapping.has_functions = number != 0;
          break;
        case mapping_field::kHasFiles:
          mapping.has_files = number != 0;
          break;
        case mapping_field::kHasLines:
          mapping.has_lines = number != 0;
          break;
        case mapping_field::kHasInlined:
          mapping.has_inlined = number != 0;
          break;
        default:
          break;
      }
    }
    mappings_[id] = static_cast<std::uint32_t>(profile_.mappings.size());
    profile_.mappings.push_back(mapping);
  }

  void read_function(WireReader reader) {
    Function function;
    std::uint64_t id = 0;
    while (reader.next()) {
      switch (reader.field()) {
        case 1:
          id = reader.number();
          break;
        case 2:
          function.name = text(reader.number());
          break;
        case 3:
          function.system_name = text(reader.number());
          break;
        case 4:
          function.file = text(reader.number());
          break;
        case 5:
          function.start_line = reader.signed_number();
          break;
        default:
          break;
      }
    }
    functions_[id] = static_cast<std::uint32_t>(profile_.functions.size());
    profile_.functions.push_back(function);
  }

  void read_location(WireReader reader) {
    Location location;
    std::uint64_t id = 0;
    while (reader.next()) {
      switch (reader.field()) {
        case 1:
          id = reader.number();
          break;
        case 2:
          if (reader.number() != 0) location.mapping = index_of(mappings_, reader.number());
          break;
        case 3:
          location.address = reader.number();
          break;
        case 4: {
          Line line;
          for (WireReader inner(reader.bytes()); inner.next();) {
            if (inner.field() == 1) line.function = index_of(functions_, inner.number());
            if (inner.field() == 2) line.line = inner.signed_number();
            if (inner.field() == 3) line.column = inner.signed_number();
          }
          if (profile_.functions.empty()) dangling();
          location.lines.push_back(line);
          break;
        }
        case 5:
          location.folded = reader.number() != 0;
          break;
        default:
          break;
      }
    }
    locations_[id] = static_cast<std::uint32_t>(profile_.locations.size());
    profile_.locations.push_back(std::move(location));
  }

  Sample read_sample(WireReader reader) const {
    Sample sample;
    while (reader.next()) {
      switch (reader.field()) {
        case 1:
          reader.numbers(
              [&](std::uint64_t id) { sample.stack.push_back(index_of(locations_, id)); });
          break;
        case 2:
          reader.numbers([&](std::uint64_t value) {
            sample.values.push_back(static_cast<std::int64_t>(value));
          });
          break;
        case 3: {
          Label label;
          for (WireReader inner(reader.bytes()); inner.next();) {
            if (inner.field() == 1) label.key = text(inner.number());
            if (inner.field() == 2) label.text = text(inner.number());
            if (inner.field() == 3) label.number = inner.signed_number();
            if (inner.field() == 4) label.unit = text(inner.number());
          }
          sample.labels.push_back(label);
          break;
        }
        default:
          break;
      }
    }
    return sample;
  }

  void read_rest() {
    for (WireReader reader(bytes_); reader.next();) {
      switch (reader.field()) {
        case profile_field::kSampleType:
          profile_.types.push_back(read_type(WireReader(reader.bytes())));
          break;
        case profile_field::kSample:
          profile_.samples.push_back(read_sample(WireReader(reader.bytes())));
          break;
        case profile_field::kDropFrames:
          profile_.drop_frames = text(reader.number());
          break;
        case profile_field::kKeepFrames:
          profile_.keep_frames = text(reader.number());
          break;
        case profile_field::kTime:
          profile_.time_ns = reader.signed_number();
          break;
        case profile_field::kDuration:
          profile_.duration_ns = reader.signed_number();
          break;
        case profile_field::kPeriodType:
          profile_.period_type = read_type(WireReader(reader.bytes()));
          break;
        case profile_field::kPeriod:
          profile_.period = reader.signed_number();
          break;
        case profile_field::kComment:
          reader.numbers([&](std::uint64_t number) { profile_.comments.push_back(text(number)); });
          break;
        case profile_field::kDefaultType:
          profile_.default_type = text(reader.number());
          break;
        case profile_field::kDocUrl:
          profile_.doc_url = text(reader.number());
          break;
        default:
          break;
      }
    }
  }

  std::string_view bytes_;
  Profile profile_;
  std::vector<Texts::Id> texts_;  // by the file's numbers
  Ids mappings_, functions_, locations_;
};

std::string encode_type(const ValueType& type) {
  WireWriter writer;
  writer.number(1, type.type);
  writer.number(2, type.unit);
  return writer.text();
}

std::string encode_sample(const Sample& sample) {
  WireWriter writer;
  std::vector<std::uint64_t> ids;
  for (const std::uint32_t location : sample.stack) ids.push_back(location + 1u);
  writer.packed(1, ids);
  writer.packed(2, sample.values);
  for (const Label& label : sample.labels) {
    WireWriter inner;
    inner.number(1, label.key);
    inner.number(2, label.text);
    inner.number(3, static_cast<std::uint64_t>(label.number));
    inner.number(4, label.unit);
    writer.element(3, inner.text());
  }
  return writer.text();
}

std::string encode_mapping(const Mapping& mapping, std::uint64_t id) {
  WireWriter writer;
  writer.number(mapping_field::kId, id);
  writer.number(mapping_field::kStart, mapping.start);
  writer.number(mapping_field::kLimit, mapping.limit);
  writer.number(mapping_field::kOffset, mapping.offset);
  writer.number(mapping_field::kFile, mapping.file);
  writer.number(mapping_field::kBuildId, mapping.build_id);
  writer.number(mapping_field::kHasFunctions, mapping.has_functions);
  writer.number(mapping_field::kHasFiles, mapping.has_files);
  writer.number(mapping_field::kHasLines, mapping.has_lines);
  writer.number(mapping_field::kHasInlined, mapping.has_inlined);
  return writer.text();
}

std::string encode_location(const Location& location, std::uint64_t id) {
  WireWriter writer;
  writer.number(1, id);
  if (location.mapping != kNoMapping) writer.number(2, location.mapping + 1u);
  writer.number(3, location.address);
  for (const Line& line : location.lines) {
    WireWriter inner;
    inner.number(1, line.function + 1u);
    inner.number(2, static_cast<std::uint64_t>(line.line));
    inner.number(3, static_cast<std::uint64_t>(line.column));
    writer.element(4, inner.text());
  }
  writer.number(5, location.folded);
  return writer.text();
}

std::string encode_function(const Function& function, std::uint64_t id) {
  WireWriter writer;
  writer.number(1, id);
  writer.number(2, function.name);
  writer.number(3, function.system_name);
  writer.number(4, function.file);
  writer.number(5, static_cast<std::uint64_t>(function.start_line));
  return writer.text();
}

}  // namespace

Profile decode_profile(std::string_view bytes) { return Decoder(bytes).decode(); }

std::string encode_profile(const Profile& profile) {
  namespace field = profile_field;
  WireWriter writer;
  const auto signed_number = [&](unsigned number, std::int64_t value) {
    writer.number(number, static_cast<std::uint64_t>(value));
  };
  for (const ValueType& type : profile.types) writer.element(field::kSampleType, encode_type(type));
  for (const Sample& sample : profile.samples)
    writer.element(field::kSample, encode_sample(sample));
  for (std::size_t i = 0; i < profile.mappings.size(); ++i) {
    writer.element(field::kMapping, encode_mapping(profile.mappings[i], i + 1));
  }
  for (std::size_t i = 0; i < profile.locations.size(); ++i) {
    writer.element(field::kLocation, encode_location(profile.locations[i], i + 1));
  }
  for (std::size_t i = 0; i < profile.functions.size(); ++i) {
    writer.element(field::kFunction, encode_function(profile.functions[i], i + 1));
  }
  for (std::size_t i = 0; i < profile.texts.size(); ++i) {
    writer.element(field::kText, profile.texts[static_cast<Texts::Id>(i)]);
  }
  writer.number(field::kDropFrames, profile.drop_frames);
  writer.number(field::kKeepFrames, profile.keep_frames);
  signed_number(field::kTime, profile.time_ns);
  signed_number(field::kDuration, profile.duration_ns);
  writer.bytes(field::kPeriodType, encode_type(profile.period_type));
  signed_number(field::kPeriod, profile.period);
  writer.packed(field::kComment, profile.comments);
  writer.number(field::kDefaultType, profile.default_type);
  writer.number(field::kDocUrl, profile.doc_url);
  return writer.text();
}

}  // namespace corbel::cli
