// SPDX-License-Identifier: Apache-2.0
// The options of `corbel compare`.
#include <memory>

#include "commands.hpp"
#include "compare/compare.hpp"
#include "help/texts.hpp"

namespace corbel::cli {
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
  add_tbb(app, *tbb, kCompareTbb);
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
