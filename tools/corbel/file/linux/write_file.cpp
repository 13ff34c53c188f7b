// SPDX-License-Identifier: Apache-2.0
#include "file/write_file.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace corbel::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(const std::string& text) { throw std::runtime_error(text); }

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  struct stat info{};
  // A device is not replaced, and neither is a link, such as /dev/stdout, by a file.
  const bool in_place = lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  const std::string draft = in_place ? path : fmt::format("{}.{}~", path, getpid());
  int error = 0;
  const auto check = [&](bool good) {
    if (!good && error == 0) error = errno != 0 ? errno : EIO;
  };
  if (File file(std::fopen(draft.c_str(), "wb")); file) {
    check(std::fwrite(content.data(), 1, content.size(), file.get()) == content.size());
    check(std::fclose(file.release()) == 0);
  } else {
    check(false);
  }
  if (error == 0 && !in_place) check(std::rename(draft.c_str(), path.c_str()) == 0);
  if (error == 0) return;
  if (!in_place) unlink(draft.c_str());
  fail(fmt::format("cannot write {}: {} (choose another place)", path, std::strerror(error)));
}

void check_writable(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) fail(fmt::format("cannot write {}: it is a directory", path));
    if (access(path.c_str(), W_OK) == 0) return;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK) == 0) return;
  fail(fmt::format("cannot write {}: {} (choose another place)", path, std::strerror(errno)));
}

}  // namespace corbel::cli
