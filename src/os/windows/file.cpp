// SPDX-License-Identifier: Apache-2.0
// Files that are written. A file's number is its handle, of which 32 bits count.
#include <errno.h>
#include <string.h>

#include "base/text.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(std::intptr_t(file)); }
int number_of(HANDLE file) { return int(reinterpret_cast<std::intptr_t>(file)); }

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// A path as Windows takes it.
class WidePath {
 public:
  // Requires: `path` is in UTF-8; if it cannot be, it is taken to be in the process's code page.
  // One that is too long becomes empty.
  explicit WidePath(const char* path) {
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, text_, kRoom) == 0 &&
        MultiByteToWideChar(CP_ACP, 0, path, -1, text_, kRoom) == 0) {
      text_[0] = L'\0';
      return;
    }
    lift_limit();
  }

  const wchar_t* get() const { return text_; }

 private:
  static constexpr DWORD kRoom = 4096;

  // Windows takes a path of MAX_PATH characters and more only with this prefix, after which it must
  // be absolute. Other names, as those of devices, are not changed.
  void lift_limit() {
    static constexpr wchar_t kPrefix[] = L"\\\\?\\";
    constexpr DWORD kPrefixLength = DWORD(sizeof kPrefix / sizeof *kPrefix) - 1;
    wchar_t whole[kRoom];
    const DWORD length = GetFullPathNameW(text_, kRoom, whole, nullptr);
    if (length < MAX_PATH || length + kPrefixLength >= kRoom || whole[1] != L':') return;
    memcpy(text_, kPrefix, kPrefixLength * sizeof *text_);
    memcpy(text_ + kPrefixLength, whole, (length + 1) * sizeof *text_);
  }

  wchar_t text_[kRoom];
};

bool is_directory(const wchar_t* path) {
  const DWORD attributes = GetFileAttributesW(path);
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

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
  const WidePath target(path);
  // Before its attributes are asked for: Windows would connect to a pipe for that, and close it.
  HANDLE file = CreateFileW(target.get(), GENERIC_WRITE, kShareAll, nullptr, OPEN_EXISTING,
                            FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file != INVALID_HANDLE_VALUE && GetFileType(file) != FILE_TYPE_DISK) {
    file_ = number_of(file);
    return;
  }
  if (file != INVALID_HANDLE_VALUE) {
    CloseHandle(file);
  } else if (GetLastError() == ERROR_ACCESS_DENIED && is_directory(target.get())) {
    error_ = EISDIR;
    return;
  }
  TextInto name(unfinished_, sizeof unfinished_);
  if (name.add(path).add(".").add_decimal(process_id()).finish() >= sizeof unfinished_) {
    error_ = ENAMETOOLONG;
    return;
  }
  file = CreateFileW(WidePath(unfinished_).get(), GENERIC_WRITE, FILE_SHARE_READ, nullptr,
                     CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    error_ = last_error_number();
    return;
  }
  file_ = number_of(file);
  path_ = path;
}

NewFile::~NewFile() {
  LastErrorGuard guard;
  if (file_ >= 0) CloseHandle(handle_of(file_));
  if (path_ != nullptr) DeleteFileW(WidePath(unfinished_).get());
}

bool NewFile::finish() {
  LastErrorGuard guard;
  if (error_ != 0) return false;
  if (!CloseHandle(handle_of(file_))) error_ = last_error_number();
  file_ = -1;
  if (error_ != 0 || path_ == nullptr) return error_ == 0;
  if (!MoveFileExW(WidePath(unfinished_).get(), WidePath(path_).get(), MOVEFILE_REPLACE_EXISTING)) {
    error_ = last_error_number();
  } else {
    path_ = nullptr;
  }
  return error_ == 0;
}

}  // namespace corbel::os
