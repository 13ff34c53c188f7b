// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/pprof.hpp"

#include <string.h>

#include "alloc/map/footprint.hpp"
#include "alloc/profile/aggregates.hpp"
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
enum LabelField : unsigned { kKey = 1, kText = 2 };
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

PprofWriter::PprofWriter(const ProfileFacts& facts) {
  add_string("");
  add_head(facts);
  add_comments();
  add_mappings();
}

std::uint64_t PprofWriter::add_string(const char* text, std::size_t size) {
  Message head;
  head.packed(kString << 3 | 2).packed(size);
  out_.add(head.data(), head.size());
  out_.add(text, size);
  return strings_++;
}

std::uint64_t PprofWriter::add_string(const char* text) { return add_string(text, strlen(text)); }

void PprofWriter::add_head(const ProfileFacts& facts) {
  const std::uint64_t count = add_string("count");
  const std::uint64_t bytes = add_string("bytes");
  std::uint64_t in_use_space = 0;
  for (const char* what : {"alloc", "inuse", "peak"}) {
    for (const bool is_space : {false, true}) {
      Text<32> name;
      name.add(what).add(is_space ? "_space" : "_objects");
      const std::uint64_t type = add_string(name.data(), name.size());
      append(out_, kSampleType,
             Message().number(kType, type).number(kValueUnit, is_space ? bytes : count));
      if (is_space && what[0] == 'i') in_use_space = type;
    }
  }
  append(out_, kPeriodType, Message().number(kType, add_string("space")).number(kValueUnit, bytes));
  append(out_, kPeriod, facts.every);
  append(out_, kDefaultSampleType, in_use_space);
  append(out_, kTimeNanos, facts.written_at);
  append(out_, kDurationNanos, facts.written_at - facts.started_at);
  thread_key_ = add_string("thread");
}

void PprofWriter::add_comment(const char* text, std::size_t size) {
  append(out_, kComment, add_string(text, size));
}

void PprofWriter::add_comments() {
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
    const std::uint64_t file = add_string(module.path);
    const std::uint64_t id = add_string(build_id.data(), build_id.size());
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

void PprofWriter::add_threads() {
  for (ProfiledThread* thread = first_thread(); thread != nullptr; thread = thread->next) {
    Text<64> label;
    label.add(thread->name);
    if (thread->id != 0) label.add(" (").add_decimal(thread->id).add(")");
    thread->label = add_string(label.data(), label.size());
  }
}

void PprofWriter::add_aggregates(std::uint64_t recorded, std::uint64_t lost) {
  Text<64> samples;
  samples.add("samples: ").add_decimal(recorded);
  add_comment(samples.data(), samples.size());
  if (lost != 0) {
    Text<64> text;
    text.add("samples lost for want of memory: ").add_decimal(lost);
    add_comment(text.data(), text.size());
  }
  add_threads();
  for (const Aggregate* a = first_aggregate(); a != nullptr; a = a->next) {
    Message ids;
    const Stack stack = stack_of(a->stack);
    for (unsigned i = 0; i < stack.count; ++i) ids.packed(location_of(stack.frames[i]));
    Message values;
    for (const Estimate& e : {a->allocated, a->live, at_peak(*a)}) {
      values.packed(e.blocks()).packed(e.bytes);
    }
    Message label;
    label.number(kKey, thread_key_).number(kText, a->thread->label);
    Message sample;
    sample.message(kLocationIds, ids).message(kValues, values).message(kLabel, label);
    append(out_, kSample, sample);
  }
}

}  // namespace corbel::alloc
