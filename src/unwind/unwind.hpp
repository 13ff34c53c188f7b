// SPDX-License-Identifier: Apache-2.0
// Call stacks.
#pragma once

namespace corbel::unwind {

// Writes the return addresses on the calling thread's stack, the innermost first, to frames[0] to
// frames[max - 1], without those of the `skip` innermost functions, and returns their number. May
// be called inside malloc and in signal handlers: allocates nothing and takes no lock.
unsigned capture(void** frames, unsigned max, unsigned skip);

}  // namespace corbel::unwind
