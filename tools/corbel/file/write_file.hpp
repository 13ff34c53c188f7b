// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace corbel::cli {

// Replaces the file at `path` by one with `content`, or throws and leaves it as it was. A device or
// a pipe is written to.
void write_file(const std::string& path, std::string_view content);

// Throws std::runtime_error with one line if write_file() cannot write there: for what takes hours
// until there is something to be written.
void check_writable(const std::string& path);

}  // namespace corbel::cli
