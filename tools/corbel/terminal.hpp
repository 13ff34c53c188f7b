// SPDX-License-Identifier: Apache-2.0
// Terminal output: colour only where it is wanted, and one form of error line.
#pragma once

#include <string>
#include <string_view>

namespace corbel::cli {

enum class Colour { kGood, kBad, kDim, kBold, kWarn };

// Whether `fd` is a terminal.
bool is_terminal(int fd);
// Whether `fd` is a terminal that shows colour (NO_COLOR and TERM=dumb say no).
bool wants_colour(int fd);
// `text` in `colour` if `fd` shows colour, else `text`.
std::string paint(std::string_view text, Colour colour, int fd = 1);
// Columns of the terminal at `fd`; 80 when it is not a terminal.
int terminal_width(int fd);
// Its rows; 24 when it is not a terminal.
int terminal_height(int fd);

// `text` with a '?' for each byte that is not part of printable UTF-8. Names from files may have
// sequences that control the terminal.
std::string printable(const std::string& text);
// Prints to stderr. Whether that is possible does not matter.
void tell(std::string_view text);
// Prints "corbel: <text>" and the end of the line to stderr, as tell() does.
void complain(std::string_view text);

// Exit codes of this program. `run` passes on the command's own.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitOwnFailure = 125;
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

}  // namespace corbel::cli
