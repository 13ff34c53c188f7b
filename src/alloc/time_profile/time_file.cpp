// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/time_file.hpp"

#include <errno.h>

#include "alloc/heap/thread.hpp"
#include "alloc/profile/gzip.hpp"
#include "alloc/profile/pprof.hpp"
#include "alloc/profile/time_types.hpp"
#include "alloc/time_profile/count_table.hpp"
#include "alloc/time_profile/profiled_threads.hpp"
#include "alloc/time_profile/profiler.hpp"
#include "alloc/time_profile/samples.hpp"
#include "alloc/time_profile/shared_lines.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

class TimeWriter {
 public:
  explicit TimeWriter(const TimeProfileFacts& facts)
      : writer_({.types = kTimeTypes,
                 .count = kTimeValues,
                 .default_type = unsigned(TimeValue::kCpu),
                 .period_type = kTimeTypes[unsigned(TimeValue::kCpu)],
                 .period = facts.every,
                 .started_at = facts.started_at,
                 .written_at = os::wall_ns()}) {
    add_comments();
    line_ = writer_.add_text("line");
    word_ = writer_.add_text("word");
    size_ = writer_.add_text("size");
    writes_ = writer_.add_text("writes");
    block_ = writer_.add_text("block");
    add_threads();
    for_each_count(
        [](void* self, const CountRow& row) { static_cast<TimeWriter*>(self)->add_row(row); },
        this);
    if (add_heap_samples != nullptr) add_heap_samples(writer_);
  }

  const PprofWriter& result() const { return writer_; }
  bool is_complete() const { return writer_.is_complete() && !threads_.has_failed(); }

 private:
  void add_comments();
  void add_threads();
  void add_row(const CountRow& row);

  PprofWriter writer_;
  ScratchArray<PprofWriter::TextId> threads_;  // by the number of the record
  PprofWriter::TextId line_, word_, size_, writes_, block_;
};

void TimeWriter::add_comments() {
  const auto add = [this](const char* name, const char* value) {
    Text<128> text;
    text.add("corbel.").add(name).add("=").add(value);
    writer_.add_comment(text.data(), text.size());
  };
  const auto add_number = [&add](const char* name, std::uint64_t value) {
    Text<32> text;
    text.add_decimal(value);
    add(name, text.c_str());
  };
  const ProfilerFacts found = profiler_facts();
  const LostSamples lost = lost_samples();
  // A program on Corbel has allocated by now.
  add("malloc", all_heaps_made() != nullptr ? "corbel" : "system");
  add("timer", found.has_counters ? "perf" : "cpu");
  add_number("fault_cost", found.fault_cost_ns);
  add_number("process_cpu", found.process_time_ns);
  add_number("profiler_cpu", found.own_time_ns);
  add_number("samples_cpu", samples_cost_ns());
  add_number("threads", found.threads);
  if (found.without_timer != 0) add_number("threads_without_timer", found.without_timer);
  if (found.blocked != 0) add_number("threads_that_block_the_signal", found.blocked);
  if (lost.without_room != 0) add_number("lost_samples", lost.without_room);
  if (lost.wait_ns != 0) add_number("lost_wait", lost.wait_ns);
  if (found.waits_are_refused) add("waits", "refused");
  if (found.signal_was_taken) add("ended_early", "signal");
  if (found.main_has_ended) add("ended_early", "main");
}

void TimeWriter::add_threads() {
  threads_.add(0);
  for (std::uint32_t number = 1; number < end_of_tasks(); ++number) {
    const ProfiledTask& task = *task_at(number);
    // relaxed: the profile has ended
    const bool is_used = task.samples.load(std::memory_order_relaxed) != 0;
    threads_.add(is_used ? writer_.add_thread(task.name, task.id) : 0);
  }
}

// relaxed throughout: the profile has ended
void TimeWriter::add_row(const CountRow& row) {
  TimeValues values;
  values[TimeValue::kCpu] = row.cpu_ns.load(std::memory_order_relaxed);
  values[TimeValue::kWait] = row.wait_ns.load(std::memory_order_relaxed);
  values[TimeValue::kFaults] = row.faults.load(std::memory_order_relaxed);
  values[TimeValue::kSharing] = row.sharing.load(std::memory_order_relaxed);
  // The thread of a row without memory for its record, or one that came after add_threads().
  if (row.key.thread >= threads_.size()) return;
  PprofWriter::Label labels[PprofWriter::kMaxLabels];
  unsigned count = 0;
  labels[count++] = writer_.thread_label(threads_[row.key.thread]);
  if (values[TimeValue::kSharing] != 0) {
    labels[count++] = {line_, 0, row.key.address / kLineSize * kLineSize};
    labels[count++] = {word_, 0, row.key.address % kLineSize};
    labels[count++] = {size_, 0, row.key.size};
    labels[count++] = {writes_, 0, row.writes.load(std::memory_order_relaxed)};
    labels[count++] = {block_, 0, row.block.load(std::memory_order_relaxed)};
  }
  writer_.add_sample(stack_of(row.key.stack), values.at, labels, count);
}

}  // namespace

int write_time_profile_to(const char* path, const TimeProfileFacts& facts) {
  os::NewFile file(path);
  if (file.error() != 0) return file.error();
  const TimeWriter writer(facts);
  if (!writer.is_complete()) return ENOMEM;
  write_gzip(file, writer.result().data(), writer.result().size());
  if (file.error() != 0) return file.error();
  file.finish();
  return file.error();
}

}  // namespace corbel::alloc
