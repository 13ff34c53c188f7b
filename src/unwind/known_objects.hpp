// SPDX-License-Identifier: Apache-2.0
// Numbers for the programs and libraries whose frames have been seen.
#pragma once

#include <cstdint>

#include "os/os.hpp"

namespace corbel::unwind {

inline constexpr unsigned kMaxKnownObjects = 512;

// The number of the object: from 1 to kMaxKnownObjects, always the same for the same content. 0 if
// it has none: its content cannot be recognised, or too many are known.
//
// A library may be unloaded, and another one loaded at the same address. So the number belongs to
// the build id, which the caller's object has at the moment: it is mapped, because there are frames
// of it on the caller's stack. Only the program itself, which is never unloaded, needs no build id.
std::uint32_t number_of(const os::CodeObject& object);

}  // namespace corbel::unwind
