// SPDX-License-Identifier: Apache-2.0
// Finds the replacement library and puts it into LD_PRELOAD.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/tbb_report.hpp"

namespace corbel::cli {

class DynamicImage;

inline constexpr char kProxyName[] = "libcorbelmalloc_proxy.so.1";
inline constexpr char kPlainName[] = "libcorbelmalloc.so.1";
inline constexpr char kSchedulerName[] = "libcorbel.so.1";
inline constexpr char kLibraryVariable[] = "CORBEL_LIBRARY";
inline constexpr char kPreloadVariable[] = "LD_PRELOAD";
inline constexpr char kPathVariable[] = "LD_LIBRARY_PATH";

struct LibrarySearch {
  std::string path;   // absolute; empty when nothing was found
  std::string error;  // why not, in one line
};

// Finds the replacement library: CORBEL_LIBRARY, else ../lib relative to this program, else where
// the system's loader finds it.
LibrarySearch find_library();

// Finds the allocator that replaces nothing, which is beside the replacement library.
LibrarySearch find_plain_library(const std::string& replacement);

// Finds Corbel's libtbb.so.12, which is in the folder "corbel" beside the replacement library and
// the scheduler.
LibrarySearch find_tbb_library(const std::string& replacement);

// An environment variable; empty when it is not set.
std::string variable(const char* name);

// The entries of an LD_PRELOAD value. The loader accepts both spaces and colons as separators.
std::vector<std::string> preload_entries(std::string_view value);

// `value` with `library`, one entry or several, in front, and no later entry equal to one of them.
std::string prepend_preload(std::string_view library, std::string_view value);

// `value` without the entries that name one of Corbel's replacement libraries.
std::string without_corbel(std::string_view value);

// Why `path` cannot be written into LD_PRELOAD; empty when it can.
std::string preload_path_problem(const std::string& path);

// An LD_LIBRARY_PATH of `folder` and then `value`, which stays as it is.
std::string prepend_library_path(const std::string& folder, const std::string& value);

// `value` of LD_LIBRARY_PATH without the folders of Corbel's libtbb.so.12.
std::string library_path_without_corbel(const std::string& value);

// Why `folder` cannot be written into LD_LIBRARY_PATH; empty when it can.
std::string library_path_problem(const std::string& folder);

// Whether the allocator of the file at `path` is Corbel's: linked in, or exported.
bool file_is_corbel(const std::string& path);

// The version of Corbel that a libtbb.so.12 is of; nullopt when it is not Corbel's.
std::optional<std::string> corbel_tbb_version(const DynamicImage& image);
std::optional<std::string> corbel_tbb_version(const std::string& path);

// Whether the file at `path` is one of Corbel's replacement libraries, by its name and content.
bool is_corbel_library(const std::string& path);

}  // namespace corbel::cli
