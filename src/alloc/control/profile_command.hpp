// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "alloc/control/reply.hpp"

namespace corbel::alloc {

// "profile heap start [every=SIZE]": starts the heap profile. The content is "on" if it was on
// already, when only `every` can change; "again" if it has been on before; else "off".
// "profile heap stop": ends the sampling.
// "profile heap write": the content is the profile, a pprof file.
void command_profile(const char* words, Reply& reply);

}  // namespace corbel::alloc
