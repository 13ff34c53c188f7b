// SPDX-License-Identifier: Apache-2.0
// Terminal output helpers.
#include "terminal.hpp"

#include <fmt/color.h>
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>

namespace corbel::cli {

bool wants_colour(int fd) {
  const char* no = std::getenv("NO_COLOR");
  if (no != nullptr && *no != '\0') return false;
  const char* term = std::getenv("TERM");
  return is_terminal(fd) && (term == nullptr || std::string_view(term) != "dumb");
}

std::string paint(std::string_view text, Colour colour, int fd) {
  if (!wants_colour(fd)) return std::string(text);
  fmt::text_style style;
  switch (colour) {
    case Colour::kGood:
      style = fmt::fg(fmt::terminal_color::green) | fmt::emphasis::bold;
      break;
    case Colour::kBad:
      style = fmt::fg(fmt::terminal_color::red) | fmt::emphasis::bold;
      break;
    case Colour::kWarn:
      style = fmt::fg(fmt::terminal_color::yellow);
      break;
    case Colour::kDim:
      style = fmt::fg(fmt::terminal_color::bright_black);
      break;
    case Colour::kBold:
      style = fmt::emphasis::bold;
      break;
  }
  return fmt::format(style, "{}", text);
}

std::string printable(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t more = byte < 0x80   ? 0
                             : byte < 0xc2 ? 9
                             : byte < 0xe0 ? 1
                             : byte < 0xf0 ? 2
                                           : 3;
    bool good = byte >= 0x20 && byte != 0x7f && byte < 0xf5 && i + more < text.size();
    // U+0080 to U+009f are controls, too.
    good = good && !(byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    for (std::size_t k = 1; good && k <= more; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    result += good ? text.substr(i, more + 1) : "?";
    i += good ? more + 1 : 1;
  }
  return result;
}

void tell(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(std::string_view text) {
  std::fflush(stdout);
  tell(fmt::format("{} {}\n", paint("corbel:", Colour::kBad, 2), text));
}

}  // namespace corbel::cli
