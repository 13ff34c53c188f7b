// SPDX-License-Identifier: Apache-2.0
#include "console/console.hpp"

#include <io.h>
#include <windows.h>
// After windows.h.
#include <shellapi.h>

#include "terminal.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

HANDLE output_of(int fd) { return GetStdHandle(fd == 2 ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE); }

bool read_window(int fd, CONSOLE_SCREEN_BUFFER_INFO& info) {
  return GetConsoleScreenBufferInfo(output_of(fd), &info) != 0;
}

}  // namespace

// main()'s own words are in the ANSI code page, which lacks most letters.
std::vector<std::string> arguments_of(int, char**) {
  std::vector<std::string> words;
  int count = 0;
  wchar_t** const list = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 1; list != nullptr && i < count; ++i) words.push_back(narrow(list[i]));
  LocalFree(list);
  return words;
}

void prepare_terminal() {
  SetConsoleOutputCP(CP_UTF8);
  for (const int fd : {1, 2}) {
    DWORD mode = 0;
    if (GetConsoleMode(output_of(fd), &mode) != 0) {
      SetConsoleMode(output_of(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
}

// _isatty() is true of NUL, too.
bool is_terminal(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return _isatty(fd) != 0 && read_window(fd, info);
}

int terminal_width(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return read_window(fd, info) ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
}

int terminal_height(int fd) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  return read_window(fd, info) ? info.srWindow.Bottom - info.srWindow.Top + 1 : 24;
}

}  // namespace corbel::cli
