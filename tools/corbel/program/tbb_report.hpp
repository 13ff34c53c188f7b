// SPDX-License-Identifier: Apache-2.0
// Which libtbb a program has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/obstacle.hpp"

namespace corbel::cli {

inline constexpr char kTbbName[] = "libtbb.so.12";

// kPath leads programs to the library by LD_LIBRARY_PATH, and preloads it only where the program
// would not find it that way. The preload costs every process that the command starts the time to
// load and relocate three libraries, which about doubles the time of a short one, and puts the
// names of both libraries before those of the process's own ones.
enum class TbbMode { kOff, kPath, kPreload };

struct MissingName {
  std::string symbol;  // as linked
  std::string name;    // readable
  std::string object;  // what calls it
};

struct TbbLibrary {
  std::string path;
  bool corbel = false;  // it is Corbel's
  std::string version;  // of Corbel or oneTBB; empty when the file does not say it
  bool preloaded = false;
};

// What a program has of TBB.
struct TbbReport {
  std::vector<TbbLibrary> libraries;  // each libtbb.so.12; all calls of the program's own objects
                                      // go to the first if it is preloaded
  std::vector<MissingName>
      missing;          // names of its interface that the program calls and nothing defines
  std::string inside;   // an object of another name that has oneTBB's library inside
  std::string classic;  // its libtbb.so.2
};

// Why the program does not run on Corbel's libtbb.so.12; empty when it does, or has no TBB.
std::vector<Obstacle> explain_tbb(const std::optional<TbbReport>& report);

// The lines for people, without what `reasons` say already.
std::vector<std::string> tbb_lines(const TbbReport& report, const std::vector<Obstacle>& reasons);

}  // namespace corbel::cli
