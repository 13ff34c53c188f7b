// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/take_live.hpp"

#include "alloc/check/report.hpp"
#include "base/bits.hpp"

namespace corbel::alloc {

namespace {

[[noreturn]] void report_pointer(const char* name, const void* pointer, const BlockRef& block) {
  Finding finding;
  finding.add(name).add(" of a pointer ");
  if (!block) {
    finding.add("to no block: none has ever been allocated there");
    report(finding, pointer, block, {.doing = "called"});
  }
  const std::size_t begin = address_of(block.begin());
  const std::size_t end = begin + block.record->size;
  const std::size_t at = address_of(pointer);
  if (at < begin) {
    finding.add_decimal(begin - at).add(" bytes before ");
  } else if (at < end) {
    finding.add_decimal(at - begin).add(" bytes into ");
  } else {
    finding.add_decimal(at - end).add(" bytes after the end of ");
  }
  add_block(finding, block);
  report(finding, pointer, block, {.doing = "called"});
}

}  // namespace

BlockRef take_live(const char* name, Ends ends, const void* pointer, const BlockRef& block) {
  if (!block || block.begin() != pointer) report_pointer(name, pointer, block);
  const BlockState state = block.take();
  if (state == BlockState::kLive) return block;
  block.set_state(state);
  Finding finding;
  if (ends == Ends::kYes) {
    finding.add("double free of a block of ").add_decimal(block.record->size).add(" bytes");
  } else {
    finding.add(name).add(" of ");
    add_block(finding, block);
  }
  report(finding, pointer, block, {.doing = ends == Ends::kYes ? "freed again" : "called"});
}

}  // namespace corbel::alloc
