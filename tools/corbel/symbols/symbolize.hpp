// SPDX-License-Identifier: Apache-2.0
// Gives the addresses of a profile their functions, files and lines.
#pragma once

#include <string>
#include <vector>

#include "pprof/profile.hpp"

namespace corbel::cli {

// Names the locations in code that is in no file: what the program compiled while it ran, and the
// kernel's. For the profile of one process.
void name_code_without_file(Profile& profile);

// Names all other locations that have no name yet. A location that stays unknown is named by its
// file and the offset in it. Returns what the user can do to get the missing names: at most one
// line.
std::string symbolize(Profile& profile);

// Removes the allocator's own frames from the inner end of each stack, so that a block belongs to
// the function that requested it.
void drop_allocator_frames(Profile& profile);

}  // namespace corbel::cli
