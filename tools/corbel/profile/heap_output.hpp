// SPDX-License-Identifier: Apache-2.0
// Where a new heap profile and its page go.
#pragma once

#include <string>

#include "pprof/profile.hpp"
#include "profile/profile_command.hpp"

namespace corbel::cli {

struct HeapOutput {
  std::string profile;  // the file in pprof's format
  std::string page;     // empty: none
};

// The files as the user named them; without names, after the program and beside the profile. Throws
// std::runtime_error with one line if one of them cannot be written: to be called before a profile
// is made, perhaps for hours.
HeapOutput choose_heap_output(const HeapOptions& options, const std::string& program);

// Writes both, and prints the places that hold most memory. Throws std::runtime_error with one line
// when something has not been written.
void write_heap_output(const Profile& profile, const HeapOutput& output, const std::string& title);

}  // namespace corbel::cli
