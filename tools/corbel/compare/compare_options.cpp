// SPDX-License-Identifier: Apache-2.0
// The options of `corbel compare`.
#include <memory>

#include "commands.hpp"
#include "compare/compare.hpp"

namespace corbel::cli {
namespace {

constexpr char kCompareFooter[] =
    "Each round runs every side once, in a random order that --seed determines.\n"
    "\n"
    "The table shows the median of all runs ± the median absolute deviation (MAD), and the\n"
    "ratio to the system's malloc. It reports a difference only when the medians are further\n"
    "apart than the sum of both spreads (1.48 MAD each, more when there are few runs).\n"
    "Peak memory is the largest resident set that any single process of the command reached\n"
    "(VmHWM), not the sum of several. CPU time and faults are the sums over the command and the\n"
    "children it waited for. A run is marked disturbed when other processes used the processor\n"
    "meanwhile; it still counts.\n"
    "\n"
    "Exit code: 0 when all runs agree; 1 when exit codes (or, with --check-output, outputs)\n"
    "differ; 125 when FILE cannot be written; 127, 126 and 125 as for run; 2 for wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel compare -- ./app input\n"
    "  corbel compare -n 30 --json result.json --check-output -- ./app input\n"
    "  corbel compare --tbb -- flexbar -r reads.fastq -n 4\n"
    "  corbel compare --with jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -- ./app";

}  // namespace

std::vector<Subcommand> add_compare(CLI::App& parent) {
  const auto options = std::make_shared<CompareOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app =
      add_command(parent, "compare", "Run a command on the system's malloc and on Corbel",
                  "[OPTIONS] -- CMD …", kCompareFooter);
  app->prefix_command();
  app->add_option("-n,--runs", options->runs, "Measured runs a side (10)")
      ->type_name("N")
      ->check(at_least(1));
  app->add_option("--warmup", options->warmup, "Warm-up rounds, not counted (1)")
      ->type_name("N")
      ->check(at_least(0));
  app->add_option("--json", options->json_file,
                  "Write every run and the summary to FILE ('-': standard output)")
      ->type_name("FILE");
  app->add_flag("--append", options->append,
                "Keep the runs that the --json FILE holds; add to them");
  app->add_option("--with", options->with,
                  "One more side, with another library preloaded; may be repeated")
      ->type_name("NAME=LIB.so")
      ->type_size(1)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& value) {
        const std::size_t equals = value.find('=');
        return equals == std::string::npos || equals == 0 || equals + 1 == value.size()
                   ? "NAME=LIB.so expected, not '" + value + "'"
                   : std::string();
      });
  app->add_option("--seed", options->seed, "Seed of the order in each round (1)")->type_name("N");
  add_tbb(app, *tbb, "Run on Corbel's libtbb.so.12, too, beside the program's own");
  app->add_flag("--show-output", options->show_output,
                "Show the output of the command instead of dropping it");
  app->add_flag("--check-output", options->check_output,
                "Check that the standard output of all runs is the same")
      ->excludes("--show-output");
  app->add_flag("-q,--quiet", options->quiet, "No progress");
  app->add_flag("--force", options->force, "Compare even if the replacement cannot work");
  return {{app, [=](const std::vector<std::string>& command) {
             if (command.empty()) return usage_error("no command given after '--'", app);
             if (options->append && (options->json_file.empty() || options->json_file == "-")) {
               return usage_error("--append needs --json FILE", app);
             }
             options->tbb = tbb_mode(*tbb);
             options->command = command;
             return compare(*options);
           }}};
}

}  // namespace corbel::cli
