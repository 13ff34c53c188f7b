// SPDX-License-Identifier: Apache-2.0
#include "console/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.hpp"

namespace corbel::cli {

std::vector<std::string> arguments_of(int count, char** values) {
  return {values + (count > 0 ? 1 : 0), values + count};
}

void prepare_terminal() {}
void restore_terminal() {}

bool is_terminal(int fd) { return isatty(fd) == 1; }

int terminal_width(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int terminal_height(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return 24;
}

}  // namespace corbel::cli
