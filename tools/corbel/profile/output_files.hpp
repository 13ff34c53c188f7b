// SPDX-License-Identifier: Apache-2.0
// The files that `corbel profile heap` and `corbel profile time` read and write.
#pragma once

#include <string>
#include <vector>

#include "pprof/profile.hpp"

namespace corbel::cli {

// "app.heap.pb.gz", or "app.heap.2.pb.gz" where that exists: an older profile is there to be
// compared with. `kind` is "heap" or "time".
std::string default_output(const std::string& program, const std::string& kind);

// "app.heap.html" for "app.heap.pb.gz".
std::string page_beside(const std::string& output);

// The files of `all` that are whole profiles. Says in one line which one is not: a process that was
// killed while it wrote its profile leaves a part of it.
std::vector<std::string> whole_profiles(const std::vector<std::string>& all);

// The command as one text.
std::string title_of(const std::vector<std::string>& command);

}  // namespace corbel::cli
