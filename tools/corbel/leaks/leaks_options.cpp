// SPDX-License-Identifier: Apache-2.0
// The options of `corbel leaks`.
#include <cstdlib>
#include <memory>

#include "commands.hpp"
#include "leaks/leaks_command.hpp"

namespace corbel::cli {
namespace {

constexpr char kLeaksFooter[] =
    "The command runs as with corbel run, and records every block with its call stack. When it "
    "ends\n"
    "by exit or by a return from main, all of its threads stop, and a scan looks for blocks that\n"
    "no pointer leads to. The same goes for each process that it starts. One that ends by a "
    "signal,\n"
    "_exit or exec has no report.\n"
    "\n"
    "With --pid, a process that records its blocks is checked at once: one that was started with\n"
    "CORBEL_LEAKS=1, or with CORBEL_LEAKS=sampled. Its threads stop until the scan is done.\n"
    "\n"
    "With --sampled, about one block in SIZE bytes is recorded, at next to no cost: a leak is "
    "found\n"
    "once it has lost some multiples of that.\n"
    "\n"
    "definite: no pointer leads to the block. Blocks that only it leads to are added to it.\n"
    "possible: pointers lead to it, but only into the middle of a block.\n"
    "reachable: the program can still free it.\n"
    "\n"
    "FILE of --suppressions has the format of LeakSanitizer: lines leak:PATTERN, where PATTERN "
    "occurs\n"
    "in a function, source file or library of the stack; with *, ^ and $. Without the option, a\n"
    "file that LSAN_OPTIONS=suppressions=FILE names is read.\n"
    "\n"
    "Exit code: the command's, which may be a signal. With --exit-code: 1, or N, when there are\n"
    "definite leaks, 125 when there is no report or a scan failed. 125, 126, 127 and 2 as for "
    "run.\n"
    "The processes write their reports to a folder in TMPDIR first.\n"
    "With --pid: 0, or 125 when the process cannot be asked or checked.\n"
    "\n"
    "Examples:\n"
    "  corbel leaks -- ./app input\n"
    "  corbel leaks --exit-code --suppressions known.txt -- ctest\n"
    "  corbel leaks -- env PYTHONMALLOC=malloc python3 job.py\n"
    "  CORBEL_LEAKS=sampled corbel run -- ./server &   corbel leaks --pid $!\n"
    "  CORBEL_LEAKS=1,file=/tmp/%p.leaks corbel run -- ./server; corbel leaks --read "
    "/tmp/1234.leaks";

}  // namespace

std::vector<Subcommand> add_leaks(CLI::App& parent) {
  const auto options = std::make_shared<LeaksOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app =
      add_command(parent, "leaks", "Report the blocks that a command or a process has lost",
                  "[OPTIONS] -- CMD …   or   corbel leaks [OPTIONS] --pid PID", kLeaksFooter);
  app->prefix_command();
  app->add_flag("--possible", options->possible, "List possible leaks, too");
  app->add_flag("--reachable", options->reachable, "List blocks that are still reachable, too");
  app->add_flag("--exit-code{1}", options->exit_code,
                "Exit with 1, or N, when there are definite leaks")
      ->type_name("[=N]")
      ->check(CLI::Validator(
          [](std::string& text) {
            char* end = nullptr;
            const long value = std::strtol(text.c_str(), &end, 10);
            return text.empty() || *end != '\0' || value < 1 || value > 255
                       ? "a number from 1 to 255 expected, not '" + text + "'"
                       : std::string();
          },
          ""));
  app->add_option("--suppressions", options->suppressions,
                  "Leave out the leaks that FILE names; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--json", options->json_file, "Write all places to FILE ('-': standard output)")
      ->type_name("FILE");
  app->add_option("-n,--places", options->count, "Places listed of each process (50)")
      ->type_name("N")
      ->check(at_least(1));
  app->add_option("--read", options->files,
                  "Read a report that CORBEL_LEAKS wrote; may be repeated")
      ->type_name("FILE")
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  const auto pid = app->add_option("--pid", options->pid, "Check this process now")
                       ->type_name("PID")
                       ->check(at_least(1));
  app->add_flag("--sampled{512K}", options->every,
                "Record only a sample: a block in SIZE bytes (512K)")
      ->type_name("[=SIZE]")
      ->check(sample_interval());
  app->add_flag("--sandboxed", options->into_sandbox,
                "Ask also where a sandbox may end the process for it")
      ->needs(pid);
  add_tbb(app, *tbb, "Replace libtbb.so.12, too, as corbel run does");
  app->add_flag("-v,--verbose", options->run.verbose, "Print each step before it is taken");
  return {{app, [=](const std::vector<std::string>& command) {
             if (!options->files.empty() && !command.empty()) {
               return usage_error("either --read FILE or a command", app);
             }
             if (options->pid != 0 && (!options->files.empty() || !command.empty())) {
               return usage_error("--pid excludes a command and --read", app);
             }
             if (options->pid == 0 && options->files.empty() && command.empty()) {
               return usage_error("no command given after '--'", app);
             }
             options->sampled = !options->every.empty();
             options->run.tbb = tbb_mode(*tbb);
             options->run.command = command;
             return leaks(*options);
           }}};
}

}  // namespace corbel::cli
