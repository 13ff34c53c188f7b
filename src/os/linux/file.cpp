// SPDX-License-Identifier: Apache-2.0
// Files that are written, and what the process and the thread are called. System calls by number,
// for the reasons of lines.hpp.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

namespace corbel::os {

std::uint32_t process_id() { return std::uint32_t(syscall(SYS_getpid)); }

std::uint64_t wall_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::uint64_t(t.tv_sec) * 1000000000 + std::uint64_t(t.tv_nsec);
}

void read_thread_name(char* name, std::size_t capacity) {
  ErrnoGuard guard;
  char all[16]{};
  prctl(PR_GET_NAME, all);
  TextInto(name, capacity).add(all).finish();
}

void read_command(char* command, std::size_t capacity) {
  ErrnoGuard guard;
  std::size_t size = 0;
  const long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const long got = syscall(SYS_read, file, command, capacity - 1);
    if (got > 0) size = std::size_t(got);
    syscall(SYS_close, file);
  }
  while (size > 0 && command[size - 1] == '\0') --size;
  command[size] = '\0';
  for (std::size_t i = 0; i < size; ++i) {
    if (command[i] == '\0') command[i] = ' ';
  }
}

void read_current_folder(char* path, std::size_t capacity) {
  ErrnoGuard guard;
  // A folder that the process cannot reach has a name that does not begin with a slash.
  if (syscall(SYS_getcwd, path, capacity) <= 0 || path[0] != '/') path[0] = '\0';
}

bool is_absolute(const char* path) { return path[0] == '/'; }

namespace {

constexpr int kCreate = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr int kOpen = O_WRONLY | O_CLOEXEC | O_NOCTTY;

long open_file(const char* path, int how) { return syscall(SYS_openat, AT_FDCWD, path, how, 0666); }

}  // namespace

bool OutputFile::write(const void* data, std::size_t size) {
  ErrnoGuard guard;
  const char* bytes = static_cast<const char*>(data);
  while (size > 0 && error_ == 0) {
    const long written = syscall(SYS_write, file_, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : EIO;
      break;
    }
    bytes += written;
    size -= std::size_t(written);
  }
  return error_ == 0;
}

NewFile::NewFile(const char* path) {
  ErrnoGuard guard;
  struct stat found;
  long file;
  if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
    file = open_file(path, kOpen);
  } else {
    TextInto name(unfinished_, sizeof unfinished_);
    if (name.add(path).add(".").add_decimal(process_id()).finish() >= sizeof unfinished_) {
      error_ = ENAMETOOLONG;
      return;
    }
    file = open_file(unfinished_, kCreate);
    if (file < 0 && errno == EEXIST && syscall(SYS_unlinkat, AT_FDCWD, unfinished_, 0) == 0) {
      file = open_file(unfinished_, kCreate);
    }
    if (file >= 0) path_ = path;
  }
  if (file < 0) error_ = errno;
  file_ = int(file);
}

NewFile::~NewFile() {
  ErrnoGuard guard;
  if (file_ >= 0) syscall(SYS_close, file_);
  if (path_ != nullptr) syscall(SYS_unlinkat, AT_FDCWD, unfinished_, 0);
}

bool NewFile::finish() {
  ErrnoGuard guard;
  if (error_ != 0) return false;
  // Linux has closed the file even if it reports an error; a network's file reports late errors
  // here.
  if (syscall(SYS_close, file_) < 0 && errno != EINTR) error_ = errno;
  file_ = -1;
  if (error_ != 0 || path_ == nullptr) return error_ == 0;
  // Not rename, a call that some processors do not have.
  if (syscall(SYS_renameat2, AT_FDCWD, unfinished_, AT_FDCWD, path_, 0) < 0) {
    error_ = errno;
  } else {
    path_ = nullptr;
  }
  return error_ == 0;
}

}  // namespace corbel::os
