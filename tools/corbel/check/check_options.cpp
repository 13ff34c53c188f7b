// SPDX-License-Identifier: Apache-2.0
// The options of `corbel check`.
#include <memory>

#include "check/check.hpp"
#include "commands.hpp"
#include "help/texts.hpp"

namespace corbel::cli {
std::vector<Subcommand> add_check(CLI::App& parent) {
  const auto options = std::make_shared<CheckOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app =
      add_command(parent, "check", "Report whether Corbel is active, and if not, why",
                  "[OPTIONS] -- CMD …   or   corbel check [OPTIONS] --pid PID", kCheckFooter);
  app->prefix_command();
  app->add_option("--pid", options->pid, "Look into a running process")
      ->type_name("PID")
      ->check(at_least(1));
  app->add_flag("--as-is", options->as_is, "Check the command as it starts without corbel run");
  add_tbb(app, *tbb, kCheckTbb);
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("-v,--verbose", options->verbose, "List every caller and every loaded object");
  return {{app, [=](const std::vector<std::string>& command) {
             const bool by_pid = options->pid != 0;
             if (by_pid && (!command.empty() || options->as_is)) {
               return usage_error("--pid excludes a command and --as-is", app);
             }
             if (command.empty() && !by_pid) {
               return usage_error("nothing to check: give '-- CMD' or '--pid PID'", app);
             }
             options->tbb = tbb_mode(*tbb);
             options->command = command;
             return check(*options);
           }}};
}

}  // namespace corbel::cli
