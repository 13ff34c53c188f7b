// SPDX-License-Identifier: Apache-2.0
// The heap profile in the format of pprof (https://github.com/google/pprof, proto/profile.proto).
//
// Functions have no names yet: only their addresses, and the mapped files with their build ids,
// from which a reader finds the names. An address is that of the call, one byte before the return
// address, so that a look-up finds the line of the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/scratch.hpp"

namespace corbel::alloc {

// The process, as far as the profile tells of it.
struct ProfileFacts {
  std::uint64_t every;       // the mean distance between samples
  std::uint64_t started_at;  // os::wall_ns()
  std::uint64_t written_at;
};

// An executable file that is mapped.
struct ProfileMapping {
  std::uintptr_t start, end;
};

class PprofWriter {
 public:
  // Writes what needs no lock: the head, and the mapped files.
  explicit PprofWriter(const ProfileFacts& facts);

  // Writes all aggregates; `recorded` samples have been added to them, and `lost` have not, for
  // want of memory. Requires: the caller holds samples_lock.
  void add_aggregates(std::uint64_t recorded, std::uint64_t lost);

  // Whether there was enough memory.
  bool is_complete() const { return !out_.has_failed() && !lacks_memory_; }

  const char* data() const { return out_.data(); }
  std::size_t size() const { return out_.size(); }

 private:
  std::uint64_t add_string(const char* text, std::size_t size);
  std::uint64_t add_string(const char* text);
  void add_head(const ProfileFacts& facts);
  void add_comment(const char* text, std::size_t size);
  void add_comments();
  void add_mappings();
  void add_threads();
  std::uint32_t location_of(const void* frame);
  std::uint64_t mapping_of(std::uintptr_t address) const;

  ScratchArray<char> out_;
  ScratchArray<ProfileMapping> mappings_;  // in the order of their addresses; ids from 1 on
  AddressNumbers locations_;
  std::uint64_t strings_ = 0;
  std::uint64_t thread_key_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace corbel::alloc
