// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corbel::arch {

// User addresses with four levels of 4 KiB pages; the kernel hands out higher ones only when asked.
inline constexpr unsigned kAddressBits = 48;

// Tells the processor that this is a spin loop; `isb` waits longer than `yield`, which most
// implementations ignore.
inline void pause() { asm volatile("isb" ::: "memory"); }

}  // namespace corbel::arch
