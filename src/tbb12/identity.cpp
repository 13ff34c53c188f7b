// SPDX-License-Identifier: Apache-2.0
// What tells this library from oneTBB's file of the same name: the version of Corbel. The corbel
// command reads it from the file, or from the memory of a process, by this exported name.
#include "tbb12/layout.hpp"

extern "C" {
extern CORBEL_TBB12 const char corbel_libtbb12_version[];
const char corbel_libtbb12_version[] = CORBEL_VERSION;
}
