// SPDX-License-Identifier: Apache-2.0
// The file that a command really executes, and the obstacles for a preloaded library in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/elf_image.hpp"
#include "program/obstacle.hpp"

namespace corbel::cli {

struct Program {
  std::string command;               // as given
  std::string path;                  // the file that the kernel starts; empty when not found
  std::string error;                 // why `path` cannot be started
  int error_code = 0;                // 127 not found, 126 not executable, 0 none
  std::vector<std::string> scripts;  // scripts that lead to `path`, outermost first
  std::optional<ElfFacts> elf;
  std::vector<Obstacle> obstacles;
};

// Looks `command` up as the shell does, follows scripts to their interpreter, and lists the
// obstacles. `library` is the library to be preloaded; its architecture must match.
Program examine_program(const std::string& command, const std::string& library);

// The obstacles of an ELF file with `facts` at `path`.
std::vector<Obstacle> find_obstacles(const std::string& path, const ElfFacts& facts,
                                     const std::string& library);

}  // namespace corbel::cli
