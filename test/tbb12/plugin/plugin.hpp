// SPDX-License-Identifier: Apache-2.0
// What a program compiled with Corbel's headers knows of a plug-in compiled with oneTBB's:
// functions in C. The two cannot include each other's headers, since both have <tbb/...>.
#pragma once

extern "C" {

using Call = void (*)(void* data, long i);

// parallel_for from 0 to n, one call a task, bound to what is around it.
void plugin_loop(long n, Call call, void* data);
// The same in a context that plugin_cancel, called from inside, cancels.
void plugin_loop_in_context(long n, Call call, void* data);
void plugin_cancel();
// A task_group of n tasks.
void plugin_group(long n, Call call, void* data);
// call(data, 0) in an arena of that width.
void plugin_in_arena(int width, Call call, void* data);
void plugin_isolated(Call call, void* data);
// Waits until another thread that runs no task, after a while, gives up what it waits for.
void plugin_wait_long();
void plugin_throw();

int plugin_width();
int plugin_index();
int plugin_is_cancelled();

long plugin_limit();
void* plugin_set_limit(long threads);
void plugin_unset_limit(void* limit);

// Ends the workers; 0 if that fails.
int plugin_finalize();

}  // extern "C"
