// SPDX-License-Identifier: Apache-2.0
#include "compare/output_file.hpp"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>

namespace corbel::cli {
namespace {

HANDLE system_handle(int file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

// As a number of the C library, which closes it.
int numbered(HANDLE file) {
  return file == INVALID_HANDLE_VALUE
             ? -1
             : _open_osfhandle(reinterpret_cast<intptr_t>(file), _O_BINARY | _O_NOINHERIT);
}

}  // namespace

int open_unnamed(const char*) {
  wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
  if (GetTempPathW(MAX_PATH, folder) == 0 || GetTempFileNameW(folder, L"crb", 0, name) == 0) {
    return -1;
  }
  return numbered(CreateFileW(
      name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
      nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
}

int open_null() {
  return numbered(CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                              OPEN_EXISTING, 0, nullptr));
}

void close_file(int file) { _close(file); }

void empty_file(int file) {
  if (SetFilePointer(system_handle(file), 0, nullptr, FILE_BEGIN) == 0)
    SetEndOfFile(system_handle(file));
}

std::uint64_t file_size(int file) {
  LARGE_INTEGER size{};
  return GetFileSizeEx(system_handle(file), &size) != 0 ? std::uint64_t(size.QuadPart) : 0;
}

std::size_t read_at(int file, char* to, std::size_t size, std::uint64_t at) {
  OVERLAPPED place{};
  place.Offset = DWORD(at);
  place.OffsetHigh = DWORD(at >> 32);
  DWORD got = 0;
  return ReadFile(system_handle(file), to, DWORD(std::min<std::size_t>(size, 1 << 30)), &got,
                  &place) != 0
             ? got
             : 0;
}

}  // namespace corbel::cli
