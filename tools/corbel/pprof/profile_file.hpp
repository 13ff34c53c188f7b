// SPDX-License-Identifier: Apache-2.0
// Files in pprof's format: profile.proto, compressed with gzip.
#pragma once

#include <string>
#include <string_view>

#include "file/write_file.hpp"
#include "pprof/profile.hpp"

namespace corbel::cli {

// Reads the file at `path`, compressed or not. Throws std::runtime_error with one line that says
// what is wrong with the file and what to do.
Profile read_profile(const std::string& path);
// The same for the content of a file; messages name it `path`.
Profile parse_profile(std::string content, const std::string& path);

// Replaces the file at `path`, or throws as read_profile does and leaves it as it was.
void write_profile(const Profile& profile, const std::string& path);

// The message of a profile, from and to bytes that are not compressed.
Profile decode_profile(std::string_view bytes);
std::string encode_profile(const Profile& profile);

}  // namespace corbel::cli
