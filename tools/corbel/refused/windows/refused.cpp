// SPDX-License-Identifier: Apache-2.0
// The sub-commands that there are not on Windows. Each says so, and what there is instead.
#include <fmt/core.h>

#include "commands.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

std::vector<Subcommand> add_refused(CLI::App& parent, const std::string& name,
                                    const std::string& instead) {
  CLI::App* app = add_command(parent, name, "Not on Windows: " + instead, "", "");
  app->prefix_command();
  return {{app, [=](const std::vector<std::string>&) {
             complain(fmt::format("corbel {} is not there on Windows: {}", name, instead));
             return kExitUsage;
           }}};
}

}  // namespace

std::vector<Subcommand> add_top(CLI::App& parent) {
  return add_refused(parent, "top", "CORBEL_STATS=1 has a program report its memory at exit");
}

std::vector<Subcommand> add_profile(CLI::App& parent) {
  return add_refused(parent, "profile",
                     "CORBEL_PROFILE=heap has a program write a profile for pprof at exit");
}

std::vector<Subcommand> add_leaks(CLI::App& parent) {
  return add_refused(parent, "leaks", "threads cannot be stopped there to look for leaks");
}

std::vector<Subcommand> add_trace(CLI::App& parent) {
  return add_refused(parent, "trace", "CORBEL_TRACE has a program write the timeline of its tasks");
}

}  // namespace corbel::cli
