// SPDX-License-Identifier: Apache-2.0
// Finds the replacement library and puts it into LD_PRELOAD.
#include "program/library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "program/elf_image.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string absolute_path(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::absolute(path, error).lexically_normal();
  return error ? path.string() : result.string();
}

// Asks the system's loader in a child process, so that this process never loads the library.
std::string ask_the_loader() {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    void* handle = dlopen(kProxyName, RTLD_LAZY | RTLD_LOCAL);
    const link_map* map = nullptr;
    if (handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
      const std::string_view name = map->l_name;
      if (write(ends[1], name.data(), name.size()) < 0) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string path;
  char buffer[4096];
  for (ssize_t got; child > 0 && (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    path.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return is_file(path) ? path : std::string();
}

std::string path_problem(const std::string& path, std::string_view characters,
                         const char* variable) {
  const std::size_t found = path.find_first_of(characters);
  if (found == std::string::npos) return {};
  return fmt::format("the path of the library has a '{}' in it, which {} cannot express: {}",
                     path[found], variable, path);
}

}  // namespace

LibrarySearch find_library() {
  if (const char* given = std::getenv(kLibraryVariable); given != nullptr && *given != '\0') {
    if (is_file(given)) return {absolute_path(given), {}};
    return {{}, fmt::format("{} names '{}', which is not a file", kLibraryVariable, given)};
  }
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path();
  std::vector<fs::path> places;
#ifdef CORBEL_LIBDIR_FROM_BINDIR
  places.push_back(folder / CORBEL_LIBDIR_FROM_BINDIR / kProxyName);
#endif
  places.push_back(folder / "../lib" / kProxyName);
  places.push_back(folder / "../lib64" / kProxyName);
  places.push_back(folder / kProxyName);
  for (const fs::path& place : places) {
    if (!error && is_file(place)) return {absolute_path(place), {}};
  }
  if (const std::string path = ask_the_loader(); !path.empty()) return {absolute_path(path), {}};
  return {{},
          fmt::format("cannot find {}: it is neither in {} nor where the system's loader looks "
                      "(set {}=/path/to/{})",
                      kProxyName, absolute_path(folder / "../lib"), kLibraryVariable, kProxyName)};
}

LibrarySearch find_plain_library(const std::string& replacement) {
  std::error_code error;
  const fs::path real = fs::canonical(replacement, error);
  for (const fs::path& each : {fs::path(replacement), real}) {
    const fs::path path = each.parent_path() / kPlainName;
    if (is_file(path)) return {path.string(), {}};
  }
  return {{},
          fmt::format("cannot find {}, which belongs beside {} (install Corbel again)", kPlainName,
                      replacement)};
}

LibrarySearch find_tbb_library(const std::string& replacement) {
  const fs::path path = fs::path(replacement).parent_path() / "corbel" / kTbbName;
  std::error_code error;
  const fs::path real = fs::canonical(replacement, error).parent_path() / "corbel" / kTbbName;
  std::string lacks;
  for (const fs::path& each : {path, real}) {
    if (!corbel_tbb_version(each.string())) continue;
    if (is_file(each.parent_path() / ".." / kSchedulerName)) return {each.string(), {}};
    lacks = fmt::format("{} needs {}, which is not in {}", each.string(), kSchedulerName,
                        each.parent_path().parent_path().string());
  }
  if (!lacks.empty()) return {{}, lacks};
  if (is_file(path)) return {{}, fmt::format("{} is not Corbel's", path.string())};
  return {{},
          fmt::format("there is no {}, Corbel's library for programs that were compiled for oneTBB "
                      "(configure Corbel with -DCORBEL_BUILD_TBB12=ON)",
                      path.string())};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<std::string> preload_entries(std::string_view value) {
  std::vector<std::string> entries;
  while (!value.empty()) {
    const std::size_t end = value.find_first_of(" :");
    if (end != 0) entries.emplace_back(value.substr(0, end));
    if (end == std::string_view::npos) break;
    value.remove_prefix(end + 1);
  }
  return entries;
}

std::string prepend_preload(std::string_view library, std::string_view value) {
  std::string result(library);
  const std::vector<std::string> first = preload_entries(library);
  for (const std::string& entry : preload_entries(value)) {
    if (std::find(first.begin(), first.end(), entry) == first.end()) result += ":" + entry;
  }
  return result;
}

std::string without_corbel(std::string_view value) {
  std::string result;
  for (const std::string& entry : preload_entries(value)) {
    if (is_corbel_library(entry)) continue;
    if (!result.empty()) result += ':';
    result += entry;
  }
  return result;
}

std::string preload_path_problem(const std::string& path) {
  return path_problem(path, " :$", kPreloadVariable);
}

std::string prepend_library_path(const std::string& folder, const std::string& value) {
  const bool leads =
      value.rfind(folder, 0) == 0 && (value.size() == folder.size() || value[folder.size()] == ':');
  if (leads) return value;
  return value.empty() ? folder : folder + ":" + value;
}

std::string library_path_without_corbel(const std::string& value) {
  std::string result;
  bool first = true;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find_first_of(":;", begin), value.size());
    const std::string folder = value.substr(begin, end - begin);
    begin = end + 1;
    // An empty entry is the working folder: it stays, and is none of Corbel's.
    if (!folder.empty() && corbel_tbb_version((fs::path(folder) / kTbbName).string())) continue;
    if (!first) result += ':';
    result += folder;
    first = false;
  }
  return result;
}

std::string library_path_problem(const std::string& folder) {
  return path_problem(folder, ":;$", kPathVariable);
}

bool file_is_corbel(const std::string& path) {
  // The anchor symbol of the replacement, and a text of the statically linked allocator that
  // stripping keeps.
  return file_contains(path, "corbel_malloc_proxy") || file_contains(path, "corbel: live ");
}

std::optional<std::string> corbel_tbb_version(const DynamicImage& image) {
  const auto found = image.find("corbel_libtbb12_version");
  return found ? std::optional(image.text_at(found->value)) : std::nullopt;
}

std::optional<std::string> corbel_tbb_version(const std::string& path) {
  const auto image = DynamicImage::from_file(path);
  return image ? corbel_tbb_version(*image) : std::nullopt;
}

bool is_corbel_library(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.rfind("libcorbelmalloc", 0) == 0) return true;
  // Intel's libraries have the same names; only the content differs.
  if (name == kTbbName) return corbel_tbb_version(path).has_value();
  return name.rfind("libtbbmalloc_proxy", 0) == 0 && file_is_corbel(path);
}

}  // namespace corbel::cli
