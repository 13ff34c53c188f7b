// SPDX-License-Identifier: Apache-2.0
// Files that are written. A file's number is its handle, of which 32 bits count.
#include <errno.h>

#include "base/text.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(std::intptr_t(file)); }

int last_error_number() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return EACCES;
    case ERROR_WRITE_PROTECT:
      return EROFS;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_FILENAME_EXCED_RANGE:
      return ENAMETOOLONG;
    case ERROR_TOO_MANY_OPEN_FILES:
      return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
      return ENOMEM;
    default:
      return EIO;
  }
}

}  // namespace

bool OutputFile::write(const void* data, std::size_t size) {
  LastErrorGuard guard;
  const char* bytes = static_cast<const char*>(data);
  while (size > 0 && error_ == 0) {
    const DWORD piece = DWORD(size < (1U << 30) ? size : 1U << 30);
    DWORD written = 0;
    if (!WriteFile(handle_of(file_), bytes, piece, &written, nullptr)) {
      error_ = last_error_number();
    } else if (written == 0) {
      error_ = EIO;
    }
    bytes += written;
    size -= written;
  }
  return error_ == 0;
}

NewFile::NewFile(const char* path) {
  LastErrorGuard guard;
  TextInto name(unfinished_, sizeof unfinished_);
  if (name.add(path).add(".").add_decimal(process_id()).finish() >= sizeof unfinished_) {
    error_ = ENAMETOOLONG;
    return;
  }
  const HANDLE file = CreateFileA(unfinished_, GENERIC_WRITE, FILE_SHARE_READ, nullptr,
                                  CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    error_ = last_error_number();
    return;
  }
  file_ = int(reinterpret_cast<std::intptr_t>(file));
  path_ = path;
}

NewFile::~NewFile() {
  LastErrorGuard guard;
  if (file_ >= 0) CloseHandle(handle_of(file_));
  if (path_ != nullptr) DeleteFileA(unfinished_);
}

bool NewFile::finish() {
  LastErrorGuard guard;
  if (error_ != 0) return false;
  if (!CloseHandle(handle_of(file_))) error_ = last_error_number();
  file_ = -1;
  if (error_ == 0 && !MoveFileExA(unfinished_, path_, MOVEFILE_REPLACE_EXISTING)) {
    error_ = last_error_number();
  }
  if (error_ == 0) path_ = nullptr;
  return error_ == 0;
}

}  // namespace corbel::os
