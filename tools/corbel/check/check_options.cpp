// SPDX-License-Identifier: Apache-2.0
// The options of `corbel check`.
#include <memory>

#include "check/check.hpp"
#include "commands.hpp"

namespace corbel::cli {
namespace {

constexpr char kCheckFooter[] =
    "The command does not run: the system's loader loads it with the replacement, resolves every\n"
    "symbol and stops before the first instruction. If LD_PRELOAD names Corbel already, or the\n"
    "program is linked with it, the command is checked as it is; otherwise as corbel run starts "
    "it.\n"
    "With --tbb it is checked as corbel run --tbb starts it, unless --as-is is given.\n"
    "A running process (--pid) is inspected from outside and is not disturbed.\n"
    "\n"
    "A program that uses oneTBB has lines that begin with tbb: which libtbb.so.12 it loads, whose "
    "it\n"
    "is, and what the program calls that no library defines. With --tbb it is active only if its\n"
    "libtbb.so.12 is Corbel's and lacks nothing; it may also load none when it starts.\n"
    "\n"
    "Exit code: 0 active, 1 not active (the reason is printed), 2 cannot tell.\n"
    "\n"
    "Examples:\n"
    "  corbel check -- ./app\n"
    "  corbel check --tbb -- ./app\n"
    "  corbel check --verbose --pid $(pidof redis-server)\n"
    "  corbel check --json -- ./app | jq .reasons";

}  // namespace

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
  add_tbb(app, *tbb, "Check Corbel's libtbb.so.12, too, as 'corbel run --tbb' starts it");
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
