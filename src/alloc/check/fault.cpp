// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/fault.hpp"

#include "alloc/check/report.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

void add_distance(Finding& finding, const void* address, const BlockRef& block) {
  const std::uintptr_t begin = address_of(block.begin());
  const std::uintptr_t end = begin + block.record->size;
  if (address_of(address) < begin) {
    finding.add_decimal(begin - address_of(address)).add(" bytes before ");
  } else if (address_of(address) >= end) {
    finding.add_decimal(address_of(address) - end).add(" bytes after the end of ");
  } else {
    finding.add("at byte ").add_decimal(address_of(address) - begin).add(" of ");
  }
}

void handle_fault(const os::Fault& fault) {
  const BlockRef block = ledger.find(fault.address);
  if (block && block.record->is_guarded) report_access(fault, block);
}

}  // namespace

bool watch_faults() { return os::on_fault(handle_fault); }

void report_access(const os::Fault& fault, const BlockRef& block) {
  Finding finding;
  switch (fault.kind) {
    case os::Fault::Kind::kRead:
      finding.add("read ");
      break;
    case os::Fault::Kind::kWrite:
      finding.add("write ");
      break;
    case os::Fault::Kind::kUnknown:
      finding.add("access ");
      break;
  }
  add_distance(finding, fault.address, block);
  add_block(finding, block);
  report(finding, block.begin(), block, {.doing = "accessed", .context = fault.context});
}

}  // namespace corbel::alloc
