// SPDX-License-Identifier: Apache-2.0
// The report that CORBEL_STATS asks for.
#include "alloc/map/options.hpp"
#include "alloc/report/stats_json.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

using Report1K = Text<1024>;

void add_limit(Report1K& report, const char* name, std::size_t limit) {
  report.add(name);
  if (limit != 0) {
    report.add_mebibytes(limit);
  } else {
    report.add("none");
  }
}

void report_as_text(const Stats& s) {
  Report1K report;
  const os::ProcessPeaks peaks = os::read_process_peaks();
  report.add("corbel: footprint ").add_mebibytes(s.footprint).add(" (most ");
  report.add_mebibytes(s.peak_footprint).add("), peak resident ");
  report.add_mebibytes(peaks.resident);
  if (peaks.commit != 0) {
    report.add(", peak commit ").add_mebibytes(peaks.commit).add(" and ");
    report.add_decimal(peaks.faults).add(" page faults,");
  }
  report.add(" with the program's own\n");
  add_limit(report, "corbel: soft limit ", s.soft_limit);
  report.add(" (exceeded ").add_decimal(s.limit_episodes).add(" times, by ");
  report.add_mebibytes(s.limit_excess).add(" at most)");
  add_limit(report, ", hard limit ", s.hard_limit);
  report.add(" (").add_decimal(s.limit_refusals).add(" requests refused), searched for room ");
  report.add_decimal(s.limit_searches).add(" times\n");
  report.add("corbel: live ").add_mebibytes(s.live).add(" (large blocks ");
  report.add_mebibytes(s.large_live).add("), free in slabs ");
  report.add_mebibytes(s.slab_free + s.orphan_free).add(" and in caches ");
  report.add_mebibytes(s.thread_cached).add(", given back in slabs ");
  report.add_mebibytes(s.slab_purged).add(", unused ").add_mebibytes(s.uncarved);
  report.add("\ncorbel: free spans ").add_mebibytes(s.free_resident).add(" resident and ");
  report.add_mebibytes(s.free_purged).add(" not, in ").add_decimal(s.free_count);
  report.add(" pieces\ncorbel: mapped ").add_mebibytes(s.mapped).add(" (most ");
  report.add_mebibytes(s.peak_mapped).add(") in ").add_decimal(s.map_calls);
  report.add(" calls, given back in ").add_decimal(s.purge_calls).add(" calls, metadata ");
  report.add_mebibytes(s.metadata).add("\ncorbel: threads with a heap ");
  report.add_decimal(s.threads).add(", taken over in their sleep ");
  report.add_decimal(s.heaps_taken_over).add("\n");
  os::write_error(report.data(), report.size());
}

// One line, so that the reports of several processes can be told apart in a file.
void report_as_json(const Stats& s) {
  // Static, because it is too large for a small stack. Not shared: this runs at exit only.
  static constinit char buffer[kMaxJson];
  TextInto text(buffer, sizeof(buffer));
  add_json(text, s);
  os::write_error(buffer, text.add("\n").finish());
}

__attribute__((destructor)) void report_at_exit() {
  // relaxed: options.hpp
  switch (options.report_at_exit.load(std::memory_order_relaxed)) {
    case Report::kNone:
      break;
    case Report::kText:
      report_as_text(stats());
      break;
    case Report::kJson:
      report_as_json(stats());
      break;
  }
}

}  // namespace
}  // namespace corbel::alloc
