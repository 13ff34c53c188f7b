// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corbel::arch {

// User addresses with four-level page tables; the kernel hands out higher ones only when asked.
inline constexpr unsigned kAddressBits = 47;

// Tells the processor that this is a spin loop.
inline void pause() { __builtin_ia32_pause(); }

}  // namespace corbel::arch
