// SPDX-License-Identifier: Apache-2.0
// The options of `corbel profile` and of the commands below it.
#include <memory>

#include "commands.hpp"
#include "profile/profile_command.hpp"

namespace corbel::cli {
namespace {

constexpr char kProfileFooter[] =
    "Examples:\n"
    "  corbel profile heap -- ./app input            what holds the memory?\n"
    "  corbel profile time -- ./app input            what does malloc cost, and where?\n"
    "  corbel profile diff old.pb.gz new.pb.gz       what has changed?\n"
    "\n"
    "See 'corbel profile COMMAND --help' for the options of a command.";

constexpr char kHeapFooter[] =
    "The command runs as with corbel run. About one block in SIZE bytes is sampled with its call\n"
    "stack, thread and task; the profile estimates from them what all blocks hold. Sampled more\n"
    "often, it is more exact and costs more time.\n"
    "\n"
    "It writes a profile in pprof's format and a page that shows it in any browser, and prints "
    "the\n"
    "ten places that hold most memory. Processes that the command starts are in the same profile.\n"
    "\n"
    "With --pid, a process that runs on Corbel already is sampled for --duration, or until "
    "Ctrl-C;\n"
    "the profile has the blocks that it allocates meanwhile. One that was started with\n"
    "CORBEL_PROFILE=heap has its profile from the start, which is taken at once.\n"
    "\n"
    "Exit code: the command's, which may be a signal; but 125 when that is 0 and there is no\n"
    "profile; else as for run. With --pid: 0, or 125. The processes write to a folder in TMPDIR\n"
    "first.\n"
    "\n"
    "Examples:\n"
    "  corbel profile heap -- ./server --once\n"
    "  corbel profile heap --every 64K -o before.pb.gz -- ./app input\n"
    "  corbel profile heap --every 64K -- env PYTHONMALLOC=malloc python3 job.py\n"
    "  corbel profile heap --pid $(pidof server) --duration 60";

constexpr char kTimeFooter[] =
    "The command runs as with corbel run. Its threads are sampled while they use a processor, "
    "wait\n"
    "for a lock or touch fresh memory. With --malloc=system the command keeps the malloc that it\n"
    "has: so you see what that costs before you replace it. What Corbel's allocator knows (how\n"
    "often a place allocates, which blocks live for less than 1 µs or are freed by another "
    "thread,\n"
    "reallocs that grow) is seen without --malloc=system only.\n"
    "\n"
    "It prints the share of memory management in the time of each thread and the ten places that\n"
    "cost most, each with what to do, and writes a page with all of them and a profile in pprof's\n"
    "format. Programs that the command starts are in the same profile.\n"
    "\n"
    "Exit code: as for heap.\n"
    "\n"
    "Examples:\n"
    "  corbel profile time --malloc=system -- ./app input    what does its malloc cost?\n"
    "  corbel profile time -- ./app input                    and Corbel's? what is left to do?\n"
    "  corbel profile time --every 100us -- ./short-job";

constexpr char kShowFooter[] =
    "FILE is a profile in pprof's format, of corbel or another tool. Several are added up, as "
    "those\n"
    "of the processes of one program. Addresses without names are looked up in the program's "
    "files\n"
    "by their build ids, so look at a profile where the program is.\n"
    "\n"
    "Exit code: 0; 1 when a file is not a profile or has no samples; 2 for wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel profile show app.heap.pb.gz\n"
    "  corbel profile show --html app.html /tmp/app.*.pb.gz";

constexpr char kDiffFooter[] =
    "Compares what functions and lines hold, so the two may come from different builds.\n"
    "\n"
    "Exit code: as for show.\n"
    "\n"
    "Example:\n"
    "  corbel profile diff --html change.html before.pb.gz after.pb.gz";

CLI::Validator sample_period() {
  return CLI::Validator(
      [](std::string& text) {
        char* end = nullptr;
        const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
        const std::string unit = end;
        const unsigned long long scale = unit == "us" ? 1 : unit == "ms" ? 1000 : 1000000;
        const bool good = !text.empty() && text[0] >= '0' && text[0] <= '9' && value > 0 &&
                          value <= 1000000 && (unit == "us" || unit == "ms" || unit == "s") &&
                          value * scale >= 100 && value * scale <= 1000000;
        return good ? std::string()
                    : "a time from 100us to 1s expected, such as 500us or 10ms, not '" + text + "'";
      },
      "");
}

Subcommand add_heap(CLI::App& parent) {
  const auto options = std::make_shared<HeapOptions>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app =
      add_command(parent, "heap", "Profile the heap of a command, or of a running process",
                  "[OPTIONS] -- CMD …   or   corbel profile heap [OPTIONS] --pid PID", kHeapFooter);
  app->prefix_command();
  app->add_option("--every", options->every, "Bytes between two samples, on average (512K)")
      ->type_name("SIZE")
      ->check(sample_interval());
  app->add_option("-o,--output", options->output, "Write the profile to FILE (CMD.heap.pb.gz)")
      ->type_name("FILE");
  const auto page =
      app->add_option("--html", options->page, "Write the page to FILE (beside the profile)")
          ->type_name("FILE");
  app->add_flag("--no-html", options->no_page, "Write no page")->excludes(page);
  const auto pid = app->add_option("--pid", options->pid, "Profile this process")
                       ->type_name("PID")
                       ->check(at_least(1));
  app->add_option("--duration", options->duration, "Sample for S seconds (until Ctrl-C)")
      ->type_name("S")
      ->needs(pid)
      ->check(seconds());
  app->add_flag("--sandboxed", options->into_sandbox,
                "Ask also where a sandbox may end the process for it")
      ->needs(pid);
  add_tbb(app, *tbb, "Replace libtbb.so.12, too, as corbel run does");
  app->add_flag("-v,--verbose", options->run.verbose, "Print each step before it is taken");
  return {app, [=](const std::vector<std::string>& command) {
            if (options->pid != 0) {
              if (!command.empty()) return usage_error("--pid excludes a command", app);
              return profile_heap_of_process(*options);
            }
            if (command.empty()) return usage_error("no command given after '--'", app);
            options->run.tbb = tbb_mode(*tbb);
            options->run.command = command;
            return profile_heap(*options);
          }};
}

Subcommand add_time(CLI::App& parent) {
  const auto options = std::make_shared<TimeOptions>();
  const auto tbb = std::make_shared<std::string>();
  const auto chosen = std::make_shared<std::string>();
  CLI::App* app = add_command(parent, "time", "Run a command and find out what memory costs it",
                              "[OPTIONS] -- CMD …", kTimeFooter);
  app->prefix_command();
  app->add_option("--malloc", *chosen, "Leave the command the malloc that it has")
      ->type_name("system")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text == "system" || text == "corbel" ? std::string()
                                                        : "system expected, not '" + text + "'";
          },
          ""));
  app->add_option("--every", options->every, "Processor time between two samples (1ms)")
      ->type_name("TIME")
      ->check(sample_period());
  app->add_option("--timer", options->timer, "Time samples by counters (perf) or by timers (cpu)")
      ->type_name("cpu|perf")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text == "cpu" || text == "perf" ? std::string()
                                                   : "cpu or perf expected, not '" + text + "'";
          },
          ""));
  app->add_option("-o,--output", options->output, "Write the profile to FILE (CMD.time.pb.gz)")
      ->type_name("FILE");
  const auto page =
      app->add_option("--html", options->page, "Write the page to FILE (beside the profile)")
          ->type_name("FILE");
  app->add_flag("--no-html", options->no_page, "Write no page")->excludes(page);
  app->add_option("--json", options->json, "Write what the page shows to FILE as JSON")
      ->type_name("FILE");
  add_tbb(app, *tbb, "Replace libtbb.so.12, too, as corbel run does");
  app->add_flag("-v,--verbose", options->run.verbose, "Print each step before it is taken");
  return {app, [=](const std::vector<std::string>& command) {
            if (command.empty()) return usage_error("no command given after '--'", app);
            options->run.tbb = tbb_mode(*tbb);
            options->run.own_malloc = *chosen == "system";
            options->run.command = command;
            return profile_time(*options);
          }};
}

Subcommand add_show(CLI::App& parent) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* app = add_command(parent, "show", "Show a profile, or several added up",
                              "[OPTIONS] FILE …", kShowFooter);
  app->add_option("FILE", options->files)->group("");
  app->add_option("--html", options->page, "Write the page to OUT")->type_name("OUT");
  app->add_option("--json", options->json, "Write a profile of time to OUT as JSON")
      ->type_name("OUT");
  app->add_option("-o,--output", options->output, "Write the profile, with all names, to OUT")
      ->type_name("OUT");
  app->add_option("-n,--lines", options->count, "Lines of the table (30)")
      ->type_name("N")
      ->check(at_least(1));
  return {app, [=](const std::vector<std::string>& more) {
            options->files.insert(options->files.end(), more.begin(), more.end());
            if (options->files.empty()) return usage_error("no profile given", app);
            return profile_show(*options);
          }};
}

Subcommand add_diff(CLI::App& parent) {
  const auto files = std::make_shared<std::vector<std::string>>();
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* app = add_command(parent, "diff", "Show what has changed between two profiles",
                              "[OPTIONS] OLD NEW", kDiffFooter);
  app->add_option("FILE", *files)->group("");
  app->add_option("--html", options->page, "Write the page to OUT")->type_name("OUT");
  app->add_option("-n,--lines", options->count, "Lines of the table (30)")
      ->type_name("N")
      ->check(at_least(1));
  return {app, [=](const std::vector<std::string>& more) {
            files->insert(files->end(), more.begin(), more.end());
            if (files->size() != 2) return usage_error("two profiles expected: OLD NEW", app);
            options->before = (*files)[0];
            options->after = (*files)[1];
            return profile_diff(*options);
          }};
}

}  // namespace

std::vector<Subcommand> add_profile(CLI::App& parent) {
  CLI::App* app =
      add_command(parent, "profile", "Find out what holds a program's memory, and what it costs",
                  "COMMAND [OPTIONS]", kProfileFooter);
  app->require_subcommand(1);
  return {add_heap(*app), add_time(*app), add_show(*app), add_diff(*app)};
}

}  // namespace corbel::cli
