// SPDX-License-Identifier: Apache-2.0
#include "file/write_file.hpp"

#include <windows.h>

#include <stdexcept>

#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error("cannot write " + path + ": " + error_text(GetLastError()) +
                           " (choose another place)");
}

// A console or a pipe is written to; a file is replaced when its successor is complete.
bool is_replaced(const std::wstring& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  return attributes == INVALID_FILE_ATTRIBUTES ? path.rfind(LR"(\\.\)", 0) != 0
                                               : (attributes & FILE_ATTRIBUTE_DEVICE) == 0;
}

HANDLE open(const std::wstring& path, DWORD how) {
  return CreateFileW(path.c_str(), GENERIC_WRITE, 0, nullptr, how, FILE_ATTRIBUTE_NORMAL, nullptr);
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
  const std::wstring place = wide(path);
  const bool replaced = is_replaced(place);
  const std::wstring draft =
      replaced ? place + L"." + std::to_wstring(GetCurrentProcessId()) + L"~" : place;
  const HANDLE file = open(draft, replaced ? CREATE_ALWAYS : OPEN_EXISTING);
  if (file == INVALID_HANDLE_VALUE) fail(path);
  bool good = true;
  while (good && !content.empty()) {
    constexpr std::size_t kMost = 1 << 30;
    DWORD done = 0;
    good = WriteFile(file, content.data(), DWORD(content.size() < kMost ? content.size() : kMost),
                     &done, nullptr) != 0;
    content.remove_prefix(done);
  }
  DWORD error = good ? 0 : GetLastError();
  CloseHandle(file);
  if (good && replaced && !MoveFileExW(draft.c_str(), place.c_str(), MOVEFILE_REPLACE_EXISTING)) {
    error = GetLastError();
  }
  if (error == 0) return;
  if (replaced) DeleteFileW(draft.c_str());
  SetLastError(error);
  fail(path);
}

void check_writable(const std::string& path) {
  const std::wstring place = wide(path);
  const bool is_new = GetFileAttributesW(place.c_str()) == INVALID_FILE_ATTRIBUTES;
  const HANDLE file = open(place, OPEN_ALWAYS);
  if (file == INVALID_HANDLE_VALUE) fail(path);
  CloseHandle(file);
  if (is_new) DeleteFileW(place.c_str());
}

}  // namespace corbel::cli
