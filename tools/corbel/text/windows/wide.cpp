// SPDX-License-Identifier: Apache-2.0
#include "text/windows/wide.hpp"

#include <windows.h>

namespace corbel::cli {

std::wstring wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  std::wstring result(
      static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0)),
      L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, result.data(),
                      static_cast<int>(result.size()));
  return result;
}

std::string narrow(std::wstring_view text) {
  const int size = static_cast<int>(text.size());
  std::string result(static_cast<std::size_t>(WideCharToMultiByte(CP_UTF8, 0, text.data(), size,
                                                                  nullptr, 0, nullptr, nullptr)),
                     '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), size, result.data(), static_cast<int>(result.size()),
                      nullptr, nullptr);
  return result;
}

std::string error_text(unsigned long number) {
  wchar_t* text = nullptr;
  const DWORD length = FormatMessageW(
      FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
      nullptr, number, 0, reinterpret_cast<wchar_t*>(&text), 0, nullptr);
  std::string result = length == 0 ? std::string() : narrow({text, length});
  LocalFree(text);
  const std::size_t end = result.find_last_not_of(" .\r\n");
  result.resize(end == std::string::npos ? 0 : end + 1);
  const std::string numbered = "error " + std::to_string(number);
  return result.empty() ? numbered : result + " (" + numbered + ")";
}

}  // namespace corbel::cli
