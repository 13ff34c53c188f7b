// SPDX-License-Identifier: Apache-2.0
// Asks the system's loader which objects a program would load, without running it. Like ldd, it
// sets LD_TRACE_LOADED_OBJECTS: the loader stops before the first instruction of the program.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/binding.hpp"

namespace corbel::cli {

struct LoaderQuestion {
  std::string path;     // the program
  std::string argv0;    // the name that it is called by
  std::string preload;  // LD_PRELOAD; empty: none
  // LD_LIBRARY_PATH; nullopt: as it is in this process.
  std::optional<std::string> library_path;
  // The symbols whose bindings are wanted. If there are any, the loader resolves all symbols.
  std::set<std::string> symbols;
};

struct LoaderSays {
  std::vector<std::string> objects;  // paths in search order, without the program itself
  std::vector<std::string> missing;
  std::vector<std::string> complaints;
  std::map<std::string, std::vector<Binding>> bindings;
  bool ran = false;
};

LoaderSays ask_loader(const LoaderQuestion& question);

}  // namespace corbel::cli
