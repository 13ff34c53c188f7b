// SPDX-License-Identifier: Apache-2.0
// The options of `corbel run`.
#include <memory>

#include "commands.hpp"
#include "help/texts.hpp"
#include "run/run.hpp"

namespace corbel::cli {
std::vector<Subcommand> add_run(CLI::App& parent) {
  const auto options = std::make_shared<RunOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app = add_command(parent, "run", "Run a command on Corbel's malloc",
                              "[OPTIONS] -- CMD …", kRunFooter);
  app->prefix_command();
  app->add_flag("--stats{1}", options->stats,
                "Report the memory at exit, in short or as JSON (CORBEL_STATS)")
      ->type_name("[=json]")
      ->check([](const std::string& value) {
        return value == "1" || value == "json" ? std::string()
                                               : "'--stats' or '--stats=json' expected";
      });
  app->add_option("--heap-limit", options->heap_limit,
                  "Soft limit: give memory back above it (CORBEL_HEAP_LIMIT)")
      ->type_name("SIZE")
      ->check(memory_amount());
  app->add_option("--hard-limit", options->hard_limit,
                  "Hard limit: requests fail above it (CORBEL_HEAP_HARD_LIMIT)")
      ->type_name("SIZE")
      ->check(memory_amount());
  app->add_option("--huge-pages", options->huge_pages,
                  "Which memory may have huge pages (CORBEL_HUGE_PAGES)")
      ->type_name("never|auto|always")
      ->transform([](const std::string& value) -> std::string {
        // The older values, from before "auto" existed.
        return value == "on" ? "always" : value == "off" ? "never" : value;
      })
      ->check(CLI::Validator(
          [](std::string& value) {
            return value == "never" || value == "auto" || value == "always"
                       ? std::string()
                       : "'never', 'auto' or 'always' expected, not '" + value + "'";
          },
          ""));
  app->add_option("--check", options->check,
                  "Find misuse in a few blocks, or in all (CORBEL_CHECK)")
      ->type_name("guards|full[,…]")
      ->check(CLI::Validator(
          [](std::string& value) {
            const std::string word = value.substr(0, value.find(','));
            return word == "guards" || word == "full"
                       ? std::string()
                       : "'guards' or 'full' expected, and ',…' after it, not '" + value + "'";
          },
          ""));
  add_tbb(app, *tbb, kRunTbb);
  app->add_flag("-v,--verbose", options->verbose, "Print each step before it is taken");
  app->add_flag("--force", options->force,
                "Start the program even if the replacement cannot work in it");
  return {{app, [=](const std::vector<std::string>& command) {
             if (command.empty()) return usage_error("no command given after '--'", app);
             options->tbb = tbb_mode(*tbb);
             options->command = command;
             options->may_force = true;
             return run(*options);
           }}};
}

}  // namespace corbel::cli
