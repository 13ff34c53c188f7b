// SPDX-License-Identifier: Apache-2.0
// What the rooms below fibers/ ask about the stacks of a thread other than the one it is on.
// fibers/fibers.cpp defines these functions.
#pragma once

namespace corbel::sched {

class Fibers;
struct Slot;
struct Thread;

// Whether any stack but the current one is in a task or a wait.
bool has_other_stacks(const Fibers& fibers);

// Whether the thread could leave the current stack and continue another one now.
bool has_ready_stack(const Fibers& fibers);

// Called in a wait that has nothing else to do: continues a stack that is ready until the thread
// comes back to the current one. Does nothing if what that stack waited for, a slot in an arena,
// has been taken again.
void run_ready_stack(Fibers& fibers, const void* key, bool (*done)(const void*));

// Called before the thread gives up a slot: runs the other stacks that use the slot until their
// tasks have ended, suspended tasks included.
void finish_stacks_in(Fibers& fibers, const Slot& slot);

// Called before the thread returns to code that no task has called: runs the stacks that it left in
// a wait until they have ended. Suspended tasks stay: when, and by which thread, they are resumed
// is unknown.
void finish_waits(Fibers& fibers);

// Calls f(argument) like a function, but on a stack of its own: for a thread that has used up too
// much of the current one. Returns false, without having called it, if there is no memory for a
// stack. `f` must not throw.
bool call_on_new_stack(Thread& t, void (*f)(void*), void* argument);

void delete_fibers(Fibers* fibers);

}  // namespace corbel::sched
