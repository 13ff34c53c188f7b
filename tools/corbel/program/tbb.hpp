// SPDX-License-Identifier: Apache-2.0
// Corbel's libtbb.so.12: how --tbb leads a program to it, and which libtbb a program has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace corbel::cli {

struct LoadedObject;

// kPath leads programs to the library by LD_LIBRARY_PATH, and preloads it only where the program
// would not find it that way. The preload costs every process that the command starts the time to
// load and relocate three libraries, which about doubles the time of a short one, and puts the
// names of both libraries before those of the process's own ones.
enum class TbbMode { kOff, kPath, kPreload };

struct TbbSetup {
  std::string error;         // why the library cannot be used; empty when it can
  std::string library;       // Corbel's libtbb.so.12
  std::string preload;       // LD_PRELOAD
  std::string library_path;  // LD_LIBRARY_PATH
};

// The two variables that start `program` on the libtbb.so.12 beside `replacement`. `preload` and
// `library_path` are their values without it.
TbbSetup set_up_tbb(TbbMode mode, const std::string& replacement, const Program& program,
                    const std::string& preload, const std::string& library_path);

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

// nullopt when the objects of a program need nothing of TBB.
std::optional<TbbReport> find_tbb(const std::vector<LoadedObject>& objects);

// Why the program does not run on Corbel's libtbb.so.12; empty when it does, or has no TBB.
std::vector<Obstacle> explain_tbb(const std::optional<TbbReport>& report);

// The lines for people, without what `reasons` say already.
std::vector<std::string> tbb_lines(const TbbReport& report, const std::vector<Obstacle>& reasons);

}  // namespace corbel::cli
