// SPDX-License-Identifier: Apache-2.0
// Finds the DLL that replaces malloc.
#pragma once

#include <optional>
#include <string>

namespace corbel::cli {

inline constexpr char kProxyName[] = "corbelmalloc_proxy.dll";
inline constexpr char kLibraryVariable[] = "CORBEL_LIBRARY";

struct LibrarySearch {
  std::string path;   // absolute; empty when nothing was found
  std::string error;  // why not, in one line
};

// Finds it: CORBEL_LIBRARY, else beside this program, else in ../bin or ../lib of its folder.
LibrarySearch find_library();

// An environment variable of this process; nullopt when it is not set.
std::optional<std::string> variable(const char* name);
void set_variable(const char* name, const std::string& value);

// Whether a DLL of this name is a replacement of malloc: Corbel's, or one of TBB's name.
bool is_proxy_name(const std::string& name);

// Whether such a DLL is Corbel's: TBB's own has the same name.
bool is_corbel_proxy(const std::string& path);

}  // namespace corbel::cli
