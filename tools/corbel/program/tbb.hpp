// SPDX-License-Identifier: Apache-2.0
// Corbel's libtbb.so.12: how --tbb leads a program to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/program.hpp"
#include "program/tbb_report.hpp"

namespace corbel::cli {

struct LoadedObject;

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

// nullopt when the objects of a program need nothing of TBB.
std::optional<TbbReport> find_tbb(const std::vector<LoadedObject>& objects);

}  // namespace corbel::cli
