// SPDX-License-Identifier: Apache-2.0
// The version of oneTBB whose interface this library has, and TBB_VERSION=1, which asks for it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/config.hpp"
#include "tbb12/layout.hpp"

namespace {

namespace config = corbel::config;

bool is_asked_for() {
  const char* value = secure_getenv("TBB_VERSION");
  if (value == nullptr) return false;
  constexpr char kSpace[] = " \t\n";
  value += std::strspn(value, kSpace);
  return *value == '1' && value[1 + std::strspn(value + 1, kSpace)] == '\0';
}

// When the library is loaded; the original does so when a program first uses it.
[[gnu::constructor]] void print_versions() {
  if (!is_asked_for()) return;
  std::fprintf(stderr,
               "oneTBB: VERSION\t\t%s\n"
               "oneTBB: INTERFACE VERSION\t%d\n"
               "oneTBB: LIBRARY\t\tCorbel %s\n",
               config::kTbbVersion, config::kTbbInterfaceVersion, config::kVersion);
}

}  // namespace

extern "C" {
CORBEL_TBB12 int TBB_runtime_interface_version() { return corbel::config::kTbbInterfaceVersion; }
CORBEL_TBB12 const char* TBB_runtime_version() { return corbel::config::kTbbVersion; }
}
