// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/pprof.hpp"

#include <string.h>

#include "alloc/map/footprint.hpp"
#include "alloc/profile/protobuf.hpp"
#include "base/config.hpp"
#include "base/text.hpp"
#include "unwind/modules.hpp"

namespace corbel::alloc {

namespace {

// The numbers of the fields in profile.proto.
enum ProfileField : unsigned {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kString = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum ValueTypeField : unsigned { kType = 1, kValueUnit = 2 };
enum SampleField : unsigned { kLocationIds = 1, kValues = 2, kLabel = 3 };
enum LabelField : unsigned { kKey = 1, kText = 2, kNumber = 3 };
enum MappingField : unsigned {
  kMappingId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFileOffset = 4,
  kFileName = 5,
  kBuildId = 6,
};
enum LocationField : unsigned { kLocationId = 1, kLocationMapping = 2, kAddress = 3 };

constexpr std::size_t kMaxBuildId = 64;
constexpr char kHexDigits[] = "0123456789abcdef";

void append(ScratchArray<char>& out, unsigned field, const Message& message) {
  Message head;
  head.packed(field << 3 | 2).packed(message.size());
  out.add(head.data(), head.size());
  out.add(message.data(), message.size());
}

void append(ScratchArray<char>& out, unsigned field, std::uint64_t value) {
  Message message;
  message.number(field, value);
  out.add(message.data(), message.size());
}

}  // namespace

PprofWriter::PprofWriter(const ProfileHead& head) : types_(head.count) {
  add_text("");
  add_head(head);
  add_facts();
  add_mappings();
}

PprofWriter::TextId PprofWriter::add_text(const char* text, std::size_t size) {
  Message head;
  head.packed(kString << 3 | 2).packed(size);
  out_.add(head.data(), head.size());
  out_.add(text, size);
  return texts_++;
}

PprofWriter::TextId PprofWriter::add_text(const char* text) { return add_text(text, strlen(text)); }

void PprofWriter::add_head(const ProfileHead& head) {
  const auto value_type = [this](const ValueType& type) {
    Message message;
    message.number(kType, add_text(type.name));
    message.number(kValueUnit, add_text(type.unit));
    return message;
  };
  TextId default_type = 0;
  for (unsigned i = 0; i < head.count; ++i) {
    if (i == head.default_type) default_type = texts_;
    append(out_, kSampleType, value_type(head.types[i]));
  }
  append(out_, kPeriodType, value_type(head.period_type));
  append(out_, kPeriod, head.period);
  append(out_, kDefaultSampleType, default_type);
  append(out_, kTimeNanos, head.written_at);
  append(out_, kDurationNanos, head.written_at - head.started_at);
  thread_key_ = add_text("thread");
}

void PprofWriter::add_comment(const char* text, std::size_t size) {
  append(out_, kComment, add_text(text, size));
}

void PprofWriter::add_facts() {
  const auto add = [this](const auto& text) { add_comment(text.data(), text.size()); };
  char command[1024];
  os::read_command(command, sizeof command);
  add(Text<1100>().add("command: ").add(command));
  add(Text<64>().add("pid: ").add_decimal(os::process_id()));
  add(Text<64>().add("footprint: ").add_decimal(footprint.bytes()).add(" bytes"));
  add(Text<64>().add("peak footprint: ").add_decimal(footprint.peak()).add(" bytes"));
  add(Text<64>().add("allocator: Corbel ").add(config::kVersion));
}

void PprofWriter::add_mappings() {
  unwind::for_each_module([this](const unwind::Module& module) {
    Text<2 * kMaxBuildId> build_id;
    for (std::size_t i = 0; i < module.build_id_size && i < kMaxBuildId; ++i) {
      const char digits[] = {kHexDigits[module.build_id[i] >> 4],
                             kHexDigits[module.build_id[i] & 15], '\0'};
      build_id.add(digits);
    }
    mappings_.add({module.start, module.end});
    lacks_memory_ = lacks_memory_ || mappings_.has_failed();
    const std::uint64_t file = add_text(module.path);
    const std::uint64_t id = add_text(build_id.data(), build_id.size());
    append(out_, kMapping,
           Message()
               .number(kMappingId, mappings_.size())
               .number(kMemoryStart, module.start)
               .number(kMemoryLimit, module.end)
               .number(kFileOffset, module.offset)
               .number(kFileName, file)
               .number(kBuildId, id));
    return true;
  });
}

std::uint64_t PprofWriter::mapping_of(std::uintptr_t address) const {
  std::size_t low = 0;
  std::size_t high = mappings_.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (address < mappings_[middle].start) {
      high = middle;
    } else if (address >= mappings_[middle].end) {
      low = middle + 1;
    } else {
      return middle + 1;
    }
  }
  return 0;
}

std::uint32_t PprofWriter::location_of(const void* frame) {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(frame) - 1;
  bool is_new = false;
  const std::uint32_t id = locations_.number_of(address, &is_new);
  lacks_memory_ = lacks_memory_ || id == 0;
  if (is_new) {
    append(out_, kLocation,
           Message()
               .number(kLocationId, id)
               .number(kLocationMapping, mapping_of(address))
               .number(kAddress, address));
  }
  return id;
}

PprofWriter::TextId PprofWriter::add_thread(const char* name, std::uint32_t id) {
  Text<64> text;
  text.add(name);
  if (id != 0) text.add(" (").add_decimal(id).add(")");
  return add_text(text.data(), text.size());
}

void PprofWriter::add_sample(const Stack& stack, const std::uint64_t* values, const Label* labels,
                             unsigned label_count) {
  Message ids;
  for (unsigned i = 0; i < stack.count; ++i) ids.packed(location_of(stack.frames[i]));
  Message numbers;
  for (unsigned i = 0; i < types_; ++i) numbers.packed(values[i]);
  Message sample;
  sample.message(kLocationIds, ids).message(kValues, numbers);
  for (unsigned i = 0; i < label_count; ++i) {
    Message label;
    label.number(kKey, labels[i].key).number(kText, labels[i].text);
    label.number(kNumber, labels[i].number);
    sample.message(kLabel, label);
  }
  append(out_, kSample, sample);
}

}  // namespace corbel::alloc
