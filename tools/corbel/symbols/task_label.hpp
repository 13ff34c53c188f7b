// SPDX-License-Identifier: Apache-2.0
// Which parallel call a stack belongs to.
#pragma once

#include <string>
#include <vector>

#include "pprof/profile.hpp"

namespace corbel::cli {

struct Frame {
  const std::string* name;  // readable
  const std::string* file;
};

enum class FrameKind {
  kProgram,    // or a library that is none of the others
  kStandard,   // the C++ library, and what starts threads
  kScheduler,  // Corbel's or oneTBB's
};

FrameKind kind_of(const Frame& frame);

// The frames of a sample, innermost first, those of inlined calls included.
std::vector<Frame> frames_of(const Profile& profile, const Sample& sample);

// The innermost parallel call in a stack: for example "parallel_for in convert(Model&)". Empty when
// there is none. It knows the calls of Corbel, oneTBB and OpenMP. The name is that of the function
// that has the body, because the stack of a worker does not reach back to the call.
std::string task_of(const std::vector<Frame>& frames);

// Gives each sample of a parallel call the label "task".
void label_tasks(Profile& profile);

// The innermost frame that is the program's own, not one of the standard library or of a parallel
// call, nor a wrapper of malloc: the place to look for what requested a block. 0 when there is
// none.
std::size_t own_frame(const std::vector<Frame>& frames);

}  // namespace corbel::cli
