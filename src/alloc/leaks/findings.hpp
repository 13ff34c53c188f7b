// SPDX-License-Identifier: Apache-2.0
// What a scan has found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/stacks/stack_table.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

// What became of the blocks that were allocated at one place, which all have one stack.
struct LeakPlace {
  enum class Kind : std::uint8_t { kDefinite, kPossible, kReachable };
  Kind kind;
  StackId stack;
  // Of a sampled scan, what the samples stand for.
  std::uint64_t blocks, bytes;
  // kDefinite: of other places, what is lost with these blocks. 0 in a sampled scan.
  std::uint64_t indirect_blocks, indirect_bytes;
  std::uint64_t samples;  // of a sampled scan

  std::uint64_t all_bytes() const { return bytes + indirect_bytes; }
};

struct LeakTotal {
  std::uint64_t blocks = 0, bytes = 0, places = 0, samples = 0;
};

class LeakFindings {
 public:
  enum class Result { kDone, kBusy, kNotStopped, kNoMemory, kNoMappings };

  Result result() const { return result_; }

  // Why the threads could not be stopped.
  const os::StopOutcome& stop_outcome() const { return stop_outcome_; }

  // Whether only samples of the blocks are known: then there are no possible leaks.
  bool is_sampled() const { return is_sampled_; }

  // The places, by kind; those with the most bytes first.
  const LeakPlace* begin() const { return places_; }
  const LeakPlace* end() const { return places_ + place_count_; }

  // For kDefinite with the indirect leaks.
  const LeakTotal& total(LeakPlace::Kind kind) const { return totals_[unsigned(kind)]; }

 protected:
  explicit LeakFindings(bool is_sampled) : is_sampled_(is_sampled) {}

  void sort_places();

  Result result_ = Result::kNoMemory;
  os::StopOutcome stop_outcome_;
  LeakPlace* places_ = nullptr;
  std::size_t place_count_ = 0;
  LeakTotal totals_[3];

 private:
  bool is_sampled_;
};

}  // namespace corbel::alloc
