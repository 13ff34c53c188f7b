// SPDX-License-Identifier: Apache-2.0
// The notes that traced threads leave for each other. In the static library.
#include "sched/trace/notes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sched/trace/trace_output.hpp"

namespace corbel::sched::trace {
namespace {

struct NoTask : detail::task_base {
  NoTask() : task_base(nullptr) {}
};

// As in the child of a fork, where the thread that would leave the note does not exist.
TEST(TraceNotes, NoThreadWaitsForANoteOnceTracingHasStopped) {
  ASSERT_TRUE(make_notes());
  NoTask noted, never_noted;
  std::atomic<bool> waits{false};
  std::thread thief([&] {
    await_push(noted);
    waits = true;
    await_push(never_noted);
  });
  note_push(noted, {});
  while (!waits) std::this_thread::yield();
  stop();
  thief.join();
}

}  // namespace
}  // namespace corbel::sched::trace
