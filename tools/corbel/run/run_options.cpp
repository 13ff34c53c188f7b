// SPDX-License-Identifier: Apache-2.0
// The options of `corbel run`.
#include <memory>

#include "commands.hpp"
#include "run/run.hpp"

namespace corbel::cli {
namespace {

constexpr char kRunFooter[] =
    "Everything after -- is the command. It replaces the corbel process, so its exit code,\n"
    "signals, input and terminal are its own. Programs that it starts run on Corbel too.\n"
    "\n"
    "Exit code: the command's; 127 when it is not found, 126 when it cannot be executed or the\n"
    "replacement cannot work in it, 125 when the library is missing, 2 for wrong options.\n"
    "\n"
    "SIZE: bytes (400M, 1.5G; K, M, G, T); 80%, of the container's limit or else of the machine's\n"
    "memory; auto, the container's limit less an eighth, the default of the soft limit; none.\n"
    "\n"
    "--tbb: a program that was compiled for oneTBB runs on Corbel's libtbb.so.12, to which\n"
    "LD_LIBRARY_PATH leads it. Where a DT_RPATH of the program comes before that, the library is\n"
    "preloaded. --tbb=preload always does so: for a program with a DT_RPATH that a script "
    "starts,\n"
    "and for a library that is loaded later with a DT_RPATH of its own, or by its full path.\n"
    "\n"
    "Examples:\n"
    "  corbel run -- sqlite3 data.db < script.sql\n"
    "  corbel run --stats -- python3 job.py       (PYTHONMALLOC=malloc lets all blocks through)\n"
    "  corbel run --heap-limit 400M -- ./server\n"
    "  corbel run --huge-pages always -- ./simulation\n"
    "  corbel run --check=guards -- ./server\n"
    "  corbel run --check=full -- ./tests          (guard=all, quarantine=SIZE, … may follow)\n"
    "  corbel run --tbb -- blender --background scene.blend --render-frame 1";

}  // namespace

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
  add_tbb(app, *tbb, "Replace libtbb.so.12, too, by LD_LIBRARY_PATH or with LD_PRELOAD");
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
