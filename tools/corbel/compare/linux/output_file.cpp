// SPDX-License-Identifier: Apache-2.0
#include "compare/output_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace corbel::cli {

int open_unnamed(const char* name) { return memfd_create(name, MFD_CLOEXEC); }
int open_null() { return open("/dev/null", O_WRONLY | O_CLOEXEC); }
void close_file(int file) { close(file); }

void empty_file(int file) {
  if (ftruncate(file, 0) == 0) lseek(file, 0, SEEK_SET);
}

std::uint64_t file_size(int file) {
  struct stat info{};
  return fstat(file, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

std::size_t read_at(int file, char* to, std::size_t size, std::uint64_t at) {
  const ssize_t got = pread(file, to, size, static_cast<off_t>(at));
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

}  // namespace corbel::cli
