// SPDX-License-Identifier: Apache-2.0
// Where a new profile and its page go.
#pragma once

#include <string>

namespace corbel::cli {

struct ProfileOutput {
  std::string profile;  // the file in pprof's format
  std::string page;     // the page; empty: none
};

// The files as the user named them. Without names: "app.heap.pb.gz", or "app.heap.2.pb.gz" where
// that exists, because an older profile is there to be compared with; and "app.heap.html" beside
// it. `kind` is "heap" or "time".
ProfileOutput choose_output(const std::string& program, const std::string& kind,
                            const std::string& profile, const std::string& page, bool no_page);

// Throws std::runtime_error with one line if a file cannot be written: to be called before a
// profile is made, perhaps for hours.
void check_output(const ProfileOutput& output);

// Says where the profile and the page are.
void print_output(const ProfileOutput& output);

}  // namespace corbel::cli
