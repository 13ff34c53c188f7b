// SPDX-License-Identifier: Apache-2.0
// What a command really executes, and what keeps a preloaded library from working in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elf_image.hpp"

namespace corbel::cli {

// Why a preloaded malloc cannot work, or work only in part.
struct Obstacle {
  std::string id;    // one word for programs: "static", "setuid", "musl", …
  std::string text;  // for people
  std::string help;  // what can be done about it; may be empty
};

struct Program {
  std::string command;               // as given
  std::string path;                  // the file that the kernel starts; empty when not found
  std::string error;                 // why `path` cannot be started
  int error_code = 0;                // 127 not found, 126 not executable, 0 none
  std::vector<std::string> scripts;  // scripts passed through before `path`, outermost first
  std::optional<ElfFacts> elf;
  std::vector<Obstacle> obstacles;
};

// Looks `command` up as the shell does, follows scripts to their interpreter, and names the
// obstacles. `library` is the library to be preloaded; its architecture is compared.
Program examine_program(const std::string& command, const std::string& library);

// The obstacles of an ELF file with `facts` at `path`.
std::vector<Obstacle> find_obstacles(const std::string& path, const ElfFacts& facts,
                                     const std::string& library);

}  // namespace corbel::cli
