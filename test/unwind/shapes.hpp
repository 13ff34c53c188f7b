// SPDX-License-Identifier: Apache-2.0
// Functions with frames of all shapes. Each calls `call(argument)` once.
#pragma once

using Call = void (*)(void*);

void plain(Call call, void* argument);
void with_alloca(Call call, void* argument, unsigned size);
void with_variadic(Call call, void* argument, ...);
void with_large_frame(Call call, void* argument);     // more than 128 KiB
void with_aligned_frame(Call call, void* argument);   // its stack pointer is rounded down
void with_many_registers(Call call, void* argument);  // saves all registers that it can
void through_all(Call call, void* argument);          // through all of them
