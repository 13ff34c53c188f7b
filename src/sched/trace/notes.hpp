// SPDX-License-Identifier: Apache-2.0
// What traced threads leave for each other: for a task that was pushed, where its path begins; for
// what ends, under the address that a thread waits for, where the paths to the end end.
//
// A push note is taken by the thread that runs the task. A thief may be here before the note: it
// waits for it (await_push), which is short, since the pushing thread does nothing in between.
#pragma once

#include <cstdint>

#include <corbel/detail/task.hpp>

namespace corbel::sched::trace {

struct PushNote {
  std::uint64_t length = 0;  // of the path to the push
  unsigned by = 0;           // the number of the thread that pushed it; 0: none of the scheduler's
  std::uint64_t outermost = 0;  // ns; of a push that no call encloses; else 0
  std::uint64_t at = 0;         // ns; of the push
};

// Returns false if there is no memory. Before any other function here.
bool make_notes();

void note_push(const detail::task_base& task, const PushNote& note) noexcept;
// Returns once there is a note, or none is to come.
void await_push(const detail::task_base& task) noexcept;
// No more notes come: in the child of a fork, whose one thread may wait for the note of another
// one.
void end_notes();
// Removes the note; returns false if there is none: the task was not pushed.
bool take_push(const detail::task_base& task, PushNote* note) noexcept;

// Keeps the greatest length for the key.
void note_end(const void* key, std::uint64_t length) noexcept;
// Removes the note and returns its length; 0 if there is none.
std::uint64_t take_end(const void* key) noexcept;

}  // namespace corbel::sched::trace
