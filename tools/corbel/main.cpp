// SPDX-License-Identifier: Apache-2.0
// The corbel command: parses the options and calls the sub-command.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "check.hpp"
#include "compare.hpp"
#include "run.hpp"
#include "settings.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

constexpr char kMainFooter[] =
    "Examples:\n"
    "  corbel run -- ./app --its-options        run a program on Corbel's malloc\n"
    "  corbel compare -n 20 -- ./app input      is it faster, is it smaller?\n"
    "  corbel check -- ./app                    would it work, symbol by symbol?\n"
    "  corbel check --pid 1234                  does it work in that process?\n"
    "  corbel run --tbb -- ./app                a program built for oneTBB: its tasks, too\n"
    "\n"
    "Environment:\n"
    "  CORBEL_LIBRARY    path of libcorbelmalloc_proxy.so.1, instead of looking for it\n"
    "  NO_COLOR          no colours\n"
    "\n"
    "See 'corbel COMMAND --help' for the options of a command.";

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
    "  corbel run --check=full -- ./tests          (guard=all, quarantine=SIZE, … may follow)\n"
    "  corbel run --tbb -- blender --background scene.blend --render-frame 1";

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
    "differ; 127, 126 and 125 as for run; 2 for wrong options.\n"
    "\n"
    "Examples:\n"
    "  corbel compare -- ./app input\n"
    "  corbel compare -n 30 --json result.json --check-output -- ./app input\n"
    "  corbel compare --tbb -- flexbar -r reads.fastq -n 4\n"
    "  corbel compare --with jemalloc=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 -- ./app";

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

// Wider columns and plainer words than CLI11's own formatter.
class Formatter : public CLI::Formatter {
 public:
  Formatter() {
    column_width(34);
    label("OPTIONS", "OPTIONS");
  }
  std::string make_footer(const CLI::App* app) const override {
    const std::string text = app->get_footer();
    return text.empty() ? text : text + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string usage = app->get_parent() == nullptr
                                  ? "corbel COMMAND [OPTIONS]"
                                  : "corbel " + app->get_name() + " [OPTIONS] " + tail(app);
    (void)name;
    return paint("Usage:", Colour::kBold) + " " + usage + "\n";
  }
  std::string make_option_name(const CLI::Option* option, bool) const override {
    std::string name = option->get_name(false, true);
    name = name.substr(0, name.find('{'));  // without the default of a bare flag
    if (const std::size_t comma = name.find(','); comma != std::string::npos) {
      name.insert(comma + 1, " ");
    } else {
      name.insert(0, "    ");
    }
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    // A flag and its value form one word: --stats[=json].
    const std::string type = option->get_type_name();
    return (type.rfind("[=", 0) == 0 ? "" : " ") + type;
  }

 private:
  static std::string tail(const CLI::App* app) {
    return app->get_name() == "check" ? "-- CMD …   or   corbel check [OPTIONS] --pid PID"
                                      : "-- CMD …";
  }
};

// A validator without a name: CLI11 would print the name after every option.
CLI::Validator at_least(long least) {
  return CLI::Validator(
      [least](std::string& text) {
        char* end = nullptr;
        const long value = std::strtol(text.c_str(), &end, 10);
        return text.empty() || *end != '\0' || value < least || value > 1000000000
                   ? "a number from " + std::to_string(least) + " up expected, not '" + text + "'"
                   : std::string();
      },
      "");
}

CLI::Validator memory_amount() {
  return CLI::Validator([](std::string& text) { return memory_amount_problem(text); }, "");
}

std::string tbb_problem(const std::string& value) {
  return "'--tbb' or '--tbb=preload' expected, not '" + value + "'";
}

// `word` becomes empty, "path" or "preload".
void add_tbb(CLI::App* app, std::string& word, const std::string& text) {
  app->add_flag("--tbb{path}", word, text)
      ->type_name("[=preload]")
      ->check([](const std::string& value) {
        return value == "path" || value == "preload" ? std::string() : tbb_problem(value);
      });
}

TbbMode tbb_mode(const std::string& word) {
  return word.empty() ? TbbMode::kOff : word == "preload" ? TbbMode::kPreload : TbbMode::kPath;
}

// Headings in bold where the terminal shows it.
std::string styled(const std::string& help) {
  std::string result;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool heading = !line.empty() && line.back() == ':' && line[0] != ' ';
    result += (heading ? paint(line, Colour::kBold) : line) + "\n";
  }
  return result;
}

struct Arguments {
  std::vector<std::string> own;      // for CLI11, without the program's name
  std::vector<std::string> command;  // after the first "--"
  bool separated = false;
};

Arguments split(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    if (!arguments.separated && std::string_view(values[i]) == "--") {
      arguments.separated = true;
    } else {
      (arguments.separated ? arguments.command : arguments.own).emplace_back(values[i]);
    }
  }
  return arguments;
}

// The command is what follows "--"; without one, what follows the options.
std::vector<std::string> whole_command(const CLI::App* app, const Arguments& arguments) {
  std::vector<std::string> command = app->remaining();
  if (!command.empty() && arguments.separated) {
    // `corbel run ls -- -l`: that "--" is a word of the command.
    command.emplace_back("--");
  }
  command.insert(command.end(), arguments.command.begin(), arguments.command.end());
  return command;
}

int usage_error(const std::string& text, const std::string& command) {
  complain(text);
  fmt::print(stderr, "Try 'corbel {}--help'.\n", command.empty() ? "" : command + " ");
  return kExitUsage;
}

int main_of(int count, char** values) {
  CLI::App app(
      "Corbel: a scalable malloc that replaces the system's in any program, and a task scheduler\n"
      "that replaces oneTBB's in programs built for it, without a rebuild.");
  app.name("corbel");
  app.formatter(std::make_shared<Formatter>());
  app.footer(kMainFooter);
  app.set_version_flag("--version", "corbel " CORBEL_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);

  std::string tbb;
  RunOptions run_options;
  CLI::App* run_app = app.add_subcommand("run", "Run a command on Corbel's malloc");
  run_app
      ->add_flag("--stats{1}", run_options.stats,
                 "Report the memory at exit, in short or as JSON (CORBEL_STATS)")
      ->type_name("[=json]")
      ->check([](const std::string& value) {
        return value == "1" || value == "json" ? std::string()
                                               : "'--stats' or '--stats=json' expected";
      });
  run_app
      ->add_option("--heap-limit", run_options.heap_limit,
                   "Soft limit: give memory back above it (CORBEL_HEAP_LIMIT)")
      ->type_name("SIZE")
      ->check(memory_amount());
  run_app
      ->add_option("--hard-limit", run_options.hard_limit,
                   "Hard limit: requests fail above it (CORBEL_HEAP_HARD_LIMIT)")
      ->type_name("SIZE")
      ->check(memory_amount());
  run_app
      ->add_option("--huge-pages", run_options.huge_pages,
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
  run_app
      ->add_option("--check", run_options.check,
                   "Check every block, for tests; options may follow full (CORBEL_CHECK)")
      ->type_name("full[,…]")
      ->check([](const std::string& value) {
        return value == "full" || value.starts_with("full,") ? std::string()
                                                             : "'full' or 'full,…' expected";
      });
  add_tbb(run_app, tbb, "Replace libtbb.so.12, too, by LD_LIBRARY_PATH or with LD_PRELOAD");
  run_app->add_flag("-v,--verbose", run_options.verbose, "Print each step before it is taken");
  run_app->add_flag("--force", run_options.force,
                    "Start the program even if the replacement cannot work in it");
  run_app->footer(kRunFooter);

  CompareOptions compare_options;
  CLI::App* compare_app =
      app.add_subcommand("compare", "Run a command on the system's malloc and on Corbel");
  compare_app->add_option("-n,--runs", compare_options.runs, "Measured runs a side (10)")
      ->type_name("N")
      ->check(at_least(1));
  compare_app->add_option("--warmup", compare_options.warmup, "Warm-up rounds, not counted (1)")
      ->type_name("N")
      ->check(at_least(0));
  compare_app
      ->add_option("--json", compare_options.json_file,
                   "Write every run and the summary to FILE ('-': standard output)")
      ->type_name("FILE");
  compare_app->add_flag("--append", compare_options.append,
                        "Keep the runs that the --json FILE holds; add to them");
  compare_app
      ->add_option("--with", compare_options.with,
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
  compare_app->add_option("--seed", compare_options.seed, "Seed of the order in each round (1)")
      ->type_name("N");
  add_tbb(compare_app, tbb, "Run on Corbel's libtbb.so.12, too, beside the program's own");
  compare_app->add_flag("--show-output", compare_options.show_output,
                        "Show the output of the command instead of dropping it");
  compare_app
      ->add_flag("--check-output", compare_options.check_output,
                 "Check that the standard output of all runs is the same")
      ->excludes("--show-output");
  compare_app->add_flag("-q,--quiet", compare_options.quiet, "No progress");
  compare_app->add_flag("--force", compare_options.force,
                        "Compare even if the replacement cannot work");
  compare_app->footer(kCompareFooter);

  CheckOptions check_options;
  CLI::App* check_app =
      app.add_subcommand("check", "Report whether Corbel is active, and if not, why");
  check_app->add_option("--pid", check_options.pid, "Look into a running process")
      ->type_name("PID")
      ->check(at_least(1));
  check_app->add_flag("--as-is", check_options.as_is,
                      "Check the command as it starts without corbel run");
  add_tbb(check_app, tbb, "Check Corbel's libtbb.so.12, too, as 'corbel run --tbb' starts it");
  check_app->add_flag("--json", check_options.json, "Print JSON");
  check_app->add_flag("-v,--verbose", check_options.verbose,
                      "List every caller and every loaded object");
  check_app->footer(kCheckFooter);

  for (CLI::App* each : {run_app, compare_app, check_app}) {
    each->group("Commands");
    each->prefix_command();
    each->set_help_flag("-h,--help", "Print this help");
  }

  const Arguments arguments = split(count, values);
  if (count <= 1) {
    fmt::print("{}", styled(app.help()));
    return kExitUsage;
  }
  const auto selected = [&]() -> std::string {
    for (const CLI::App* each : app.get_subcommands()) return each->get_name();
    return {};
  };
  try {
    // CLI11 expects the words in reverse order.
    app.parse(std::vector<std::string>(arguments.own.rbegin(), arguments.own.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", styled(app.help()));
    return kExitOk;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::RequiredError&) {
    return usage_error("a command is missing: run, compare or check", "");
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), selected());
  }

  const CLI::App* chosen = app.get_subcommands().front();
  const std::vector<std::string> command = whole_command(chosen, arguments);
  // A word before the command that looks like an option is a mistyped option.
  if (!chosen->remaining().empty() && chosen->remaining().front().rfind('-', 0) == 0) {
    return usage_error("unknown option: " + chosen->remaining().front(), chosen->get_name());
  }
  // CLI11 takes "--tbb=" and "--tbb=path" for "--tbb".
  const std::size_t options = arguments.own.size() - chosen->remaining().size();
  for (std::size_t i = 0; i < options; ++i) {
    const std::string& word = arguments.own[i];
    if (word.rfind("--tbb=", 0) == 0 && word != "--tbb=preload") {
      return usage_error("--tbb: " + tbb_problem(word.substr(6)), chosen->get_name());
    }
  }
  const bool by_pid = chosen == check_app && check_options.pid != 0;
  if (by_pid && (!command.empty() || check_options.as_is)) {
    return usage_error("--pid excludes a command and --as-is", "check");
  }
  if (command.empty() && !by_pid) {
    return usage_error(chosen == check_app ? "nothing to check: give '-- CMD' or '--pid PID'"
                                           : "no command given after '--'",
                       chosen->get_name());
  }
  if (compare_options.append &&
      (compare_options.json_file.empty() || compare_options.json_file == "-")) {
    return usage_error("--append needs --json FILE", "compare");
  }
  run_options.tbb = compare_options.tbb = check_options.tbb = tbb_mode(tbb);
  run_options.command = compare_options.command = check_options.command = command;
  if (chosen == run_app) return run(run_options);
  if (chosen == compare_app) return compare(compare_options);
  return check(check_options);
}

}  // namespace
}  // namespace corbel::cli

int main(int count, char** values) {
  try {
    return corbel::cli::main_of(count, values);
  } catch (const std::exception& error) {
    corbel::cli::complain(error.what());
    return corbel::cli::kExitOwnFailure;
  }
}
