// SPDX-License-Identifier: Apache-2.0
#include "program/windows/library.hpp"

#include <fmt/core.h>
#include <windows.h>

#include <filesystem>

#include "program/windows/names.hpp"
#include "program/windows/pe_image.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::absolute(path, error).lexically_normal().make_preferred();
  return narrow(error ? path.native() : result.native());
}

fs::path own_folder() {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return fs::path(path).parent_path();
}

}  // namespace

LibrarySearch find_library() {
  if (const auto given = variable(kLibraryVariable); given && !given->empty()) {
    if (is_file(wide(*given))) return {absolute_path(wide(*given)), {}};
    return {{}, fmt::format("{} names '{}', which is not a file", kLibraryVariable, *given)};
  }
  const fs::path folder = own_folder();
  for (const fs::path& place : {folder, folder / "../bin", folder / "../lib"}) {
    if (is_file(place / kProxyName)) return {absolute_path(place / kProxyName), {}};
  }
  return {{},
          fmt::format("cannot find {}: it is not in {} (set {}=C:\\path\\to\\{})", kProxyName,
                      absolute_path(folder), kLibraryVariable, kProxyName)};
}

std::optional<std::string> variable(const char* name) {
  const std::wstring wide_name = wide(name);
  SetLastError(0);
  const DWORD room = GetEnvironmentVariableW(wide_name.c_str(), nullptr, 0);
  if (room == 0) return GetLastError() == 0 ? std::optional<std::string>("") : std::nullopt;
  std::wstring value(room, L'\0');
  value.resize(GetEnvironmentVariableW(wide_name.c_str(), value.data(), room));
  return narrow(value);
}

void set_variable(const char* name, const std::string& value) {
  SetEnvironmentVariableW(wide(name).c_str(), wide(value).c_str());
}

bool is_proxy_name(const std::string& name) {
  return same_name(name, kProxyName) || same_name(name, "tbbmalloc_proxy.dll") ||
         same_name(name, "tbbmalloc_proxy_debug.dll");
}

bool is_corbel_proxy(const std::string& path) {
  const auto image = read_pe_image(path);
  return image && image->exports_name("corbel_malloc_proxy");
}

}  // namespace corbel::cli
