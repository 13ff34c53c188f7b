// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/verify.hpp"

#include "alloc/check/options.hpp"
#include "alloc/check/pattern.hpp"
#include "alloc/check/raw_block.hpp"

namespace corbel::alloc {

void verify_redzones(const BlockRef& block, BlockState state, const Occasion& occasion) {
  const char* const changed = find_changed_redzone(block);
  if (changed == nullptr) return;
  block.set_state(state);
  report_outside(changed, block, occasion);
}

void report_outside(const char* changed, const BlockRef& block, const Occasion& occasion) {
  Finding finding;
  if (changed < block.begin()) {
    finding.add("write before the beginning of ");
    add_block(finding, block);
    finding.add(", ").add_decimal(std::size_t(block.begin() - changed)).add(" before it");
  } else {
    finding.add("write after the end of ");
    add_block(finding, block);
    finding.add(", at byte ").add_decimal(std::size_t(changed - block.begin()));
  }
  report(finding, block.begin(), block, occasion);
}

void verify_freed(const BlockRef& block, const Occasion& occasion) {
  if (block.record->is_protected) return;
  verify_redzones(block, BlockState::kQuarantined, occasion);
  if (!check_options.fill) return;
  char* const end = block.begin() + block.record->size;
  const char* const changed = find_changed_freed(block.begin(), end);
  if (changed == end) return;
  block.set_state(BlockState::kQuarantined);
  Finding finding;
  finding.add("write after free, at byte ");
  finding.add_decimal(std::size_t(changed - block.begin())).add(" of ");
  add_block(finding, block);
  report(finding, block.begin(), block, occasion);
}

namespace {

void verify_block(const BlockRef& block, const Occasion& occasion) {
  const BlockState state = block.state();
  if (state != BlockState::kLive && state != BlockState::kQuarantined) return;
  // A block that another thread has taken is checked by that one, or the next time.
  if (!ledger.try_take(block, state)) return;
  if (state == BlockState::kLive) verify_redzones(block, state, occasion);
  if (state == BlockState::kQuarantined) verify_freed(block, occasion);
  block.set_state(state);
}

}  // namespace

void verify_all(const char* doing) {
  ledger.for_each_block([&](const BlockRef& block) {
    verify_block(block, {.doing = doing});
    return true;
  });
}

void verify_some() {
  ledger.for_next_group([](const BlockRef& block) {
    verify_block(block, {.doing = "found"});
    return true;
  });
}

}  // namespace corbel::alloc
