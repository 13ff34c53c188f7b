// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "program/elf_image.hpp"

namespace corbel::cli {

// One object in the order in which the loader searches for symbols.
struct LoadedObject {
  std::string path;                 // the name that the loader uses; for the program, its path
  std::string real_path;            // a path that this process can open
  std::uint64_t low = 0, high = 0;  // its address range; running processes only
  bool corbel = false;              // a malloc replacement
  bool preloaded = false;           // LD_PRELOAD names it
  DynamicImage image;
};

// Whether an object that provides malloc is Corbel, by its name or its content.
bool object_is_corbel(const LoadedObject& object);

}  // namespace corbel::cli
