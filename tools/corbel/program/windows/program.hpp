// SPDX-License-Identifier: Apache-2.0
// The file that a command really executes, the DLLs that it loads when it starts, and the obstacles
// for a replacement of malloc in it.
#pragma once

#include <string>
#include <vector>

#include "program/obstacle.hpp"
#include "program/windows/pe_image.hpp"

namespace corbel::cli {

// A file of the program: itself, or a DLL that is not a part of Windows.
struct ProgramModule {
  std::string path;
  PeImage image;
  std::vector<std::string> runtimes;  // the C runtimes that it imports from, such as "ucrtbase.dll"
};

struct Program {
  std::string path;    // the file that is started; empty when not found
  std::string error;   // why `path` cannot be started
  int error_code = 0;  // 127 not found, 126 not executable, 0 none
  PeImage image;
  std::vector<ProgramModule> modules;  // the program is the first
  std::vector<std::string> missing;    // DLLs that are not there
  bool is_linked = false;              // it contains or imports Corbel's replacement of malloc
  std::string other_proxy;             // the path of TBB's own, if it or a DLL of it imports that
  std::vector<Obstacle> obstacles;
};

// Looks `command` up as CreateProcess does, and reads what it imports. DLLs are searched where the
// loader would, without what a manifest says.
Program examine_program(const std::string& command);

// TBB's own replacement of malloc, which is the DLL at `path`.
Obstacle other_proxy(const std::string& path);

}  // namespace corbel::cli
