// SPDX-License-Identifier: Apache-2.0
// Profiles in the format of pprof (https://github.com/google/pprof, proto/profile.proto).
//
// Functions have no names yet: only their addresses, and the mapped files with their build ids,
// from which a reader finds the names. An address is that of the call, one byte before the return
// address, so that a look-up finds the line of the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/scratch.hpp"
#include "alloc/stacks/stack_table.hpp"

namespace corbel::alloc {

struct ValueType {
  const char* name;
  const char* unit;
};

// What the values of the samples mean, and when they were taken.
struct ProfileHead {
  static constexpr unsigned kMaxTypes = 12;

  const ValueType* types;
  unsigned count;         // of types; at most kMaxTypes
  unsigned default_type;  // the number of the one that viewers show first
  ValueType period_type;
  std::uint64_t period;      // the mean distance between samples
  std::uint64_t started_at;  // os::wall_ns()
  std::uint64_t written_at;
};

// An executable file that is mapped.
struct ProfileMapping {
  std::uintptr_t start, end;
};

class PprofWriter {
 public:
  // Names a text of the profile, which may be written more than once. add_text() returns one.
  using TextId = std::uint64_t;

  // A text, or else a number.
  struct Label {
    TextId key;
    TextId text;  // 0: the label is a number
    std::uint64_t number;
  };
  static constexpr unsigned kMaxLabels = 6;

  // Writes the head, facts about the process, and the mapped files. Needs no lock.
  explicit PprofWriter(const ProfileHead& head);

  TextId add_text(const char* text, std::size_t size);
  TextId add_text(const char* text);
  void add_comment(const char* text, std::size_t size);

  // "name (id)", or the name alone if the id is 0.
  TextId add_thread(const char* name, std::uint32_t id);
  // The label of a thread that add_thread() has returned.
  Label thread_label(TextId thread) const { return {thread_key_, thread, 0}; }

  // `values` has one for each type of the head. At most kMaxLabels labels.
  void add_sample(const Stack& stack, const std::uint64_t* values, const Label* labels,
                  unsigned label_count);

  // Whether there was enough memory.
  bool is_complete() const { return !out_.has_failed() && !lacks_memory_; }

  const char* data() const { return out_.data(); }
  std::size_t size() const { return out_.size(); }

 private:
  void add_head(const ProfileHead& head);
  void add_facts();
  void add_mappings();
  std::uint32_t location_of(const void* frame);
  std::uint64_t mapping_of(std::uintptr_t address) const;

  ScratchArray<char> out_;
  ScratchArray<ProfileMapping> mappings_;  // in the order of their addresses; ids from 1 on
  AddressNumbers locations_;
  TextId texts_ = 0;
  TextId thread_key_ = 0;
  unsigned types_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace corbel::alloc
