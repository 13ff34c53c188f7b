// SPDX-License-Identifier: Apache-2.0
// Where a new profile and its page go.
#pragma once

#include <string>

#include "pprof/profile.hpp"

namespace corbel::cli {

struct ProfileOutput {
  std::string profile;  // the file in pprof's format
  std::string page;     // the page; empty: none
};

// The files as the user named them. Without names: after the program and beside the profile. An
// older profile stays where it is, to be compared with.
ProfileOutput choose_output(const std::string& program, const std::string& profile,
                            const std::string& page, bool no_page);

// Throws std::runtime_error with one line if one of the files cannot be written: to be called
// before a profile is made, perhaps for hours.
void check_output(const ProfileOutput& output);

// Writes both, and prints the places that hold most memory. Throws std::runtime_error with one line
// when the profile has not been written.
void write_output(const Profile& profile, const ProfileOutput& output, const std::string& title);

}  // namespace corbel::cli
