// SPDX-License-Identifier: Apache-2.0
// The options of `corbel top`.
#include <memory>

#include "commands.hpp"
#include "top/prometheus.hpp"
#include "top/top.hpp"

namespace corbel::cli {
namespace {

constexpr char kTopFooter[] =
    "Without --pid and a command: the processes of the user that run on Corbel, with their\n"
    "footprint. In a terminal the view fills the screen and q quits; elsewhere it prints lines.\n"
    "A command is started as corbel run starts it; while the screen shows it, its output is\n"
    "dropped. The exit code is the command's.\n"
    "\n"
    "--prometheus prints the metrics once, in Prometheus's text format, or serves them with\n"
    "--listen at http://ADDR:PORT/metrics until the process ends.\n"
    "\n"
    "The process is asked with a signal (SIGURG) that Corbel handles. CORBEL_CONTROL=0 in the\n"
    "environment of the process turns that off.\n"
    "\n"
    "Exit code: 0; 1 when the process cannot be asked (the reason is printed) or has ended; 2 for\n"
    "wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel top\n"
    "  corbel top --pid $(pidof redis-server)\n"
    "  corbel top --json --interval 10 --pid 1234 >> heap.jsonl\n"
    "  corbel top --prometheus --listen 127.0.0.1:9464 --pid 1234\n"
    "  corbel top -- ./app input";

}  // namespace

std::vector<Subcommand> add_top(CLI::App& parent) {
  const auto options = std::make_shared<TopOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app = add_command(parent, "top", "Show what running processes on Corbel hold and do",
                              "[OPTIONS]   or   corbel top [OPTIONS] -- CMD …", kTopFooter);
  app->prefix_command();
  app->add_option("--pid", options->pid, "Watch this process")
      ->type_name("PID")
      ->check(at_least(1));
  app->add_option("--interval", options->interval, "Seconds between two looks (1)")
      ->type_name("S")
      ->check(seconds());
  app->add_flag("--once", options->once, "Print one look and end");
  CLI::Option* json = app->add_flag("--json", options->json, "Print one JSON object a line");
  CLI::Option* prometheus = app->add_flag("--prometheus", options->prometheus,
                                          "Print the metrics in Prometheus's text format");
  prometheus->excludes(json);
  app->add_option("--listen", options->listen, "Serve the metrics over HTTP")
      ->type_name("ADDR:PORT")
      ->needs(prometheus)
      ->check(CLI::Validator([](std::string& text) { return listen_address_problem(text); }, ""));
  app->add_flag("--sandboxed", options->into_sandbox,
                "Ask also where a sandbox may end the process for it");
  add_tbb(app, *tbb, "Start the command on Corbel's libtbb.so.12, too");
  return {{app, [=](const std::vector<std::string>& command) {
             if (options->pid != 0 && !command.empty()) {
               return usage_error("--pid excludes a command", app);
             }
             if (options->prometheus && !command.empty()) {
               return usage_error("--prometheus excludes a command; give its --pid", app);
             }
             options->tbb = tbb_mode(*tbb);
             options->command = command;
             return top(*options);
           }}};
}

}  // namespace corbel::cli
