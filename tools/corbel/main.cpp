// SPDX-License-Identifier: Apache-2.0
// The corbel command: parses the options and calls the sub-command.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "console/console.hpp"
#include "help/texts.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

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

Arguments split(const std::vector<std::string>& words) {
  Arguments arguments;
  for (const std::string& word : words) {
    if (!arguments.separated && word == "--") {
      arguments.separated = true;
    } else {
      (arguments.separated ? arguments.command : arguments.own).push_back(word);
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

// The innermost sub-command that was given; `app` itself when there is none.
const CLI::App* chosen_of(const CLI::App& app) {
  const CLI::App* chosen = &app;
  for (auto below = chosen->get_subcommands(); !below.empty(); below = chosen->get_subcommands()) {
    chosen = below.front();
  }
  return chosen;
}

// "run, compare or check".
std::string names_below(const CLI::App* app) {
  std::string names;
  const auto all = app->get_subcommands([](const CLI::App*) { return true; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    names += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + all[i]->get_name();
  }
  return names;
}

int main_of(const std::vector<std::string>& words) {
  CLI::App app(
      "Corbel: a scalable malloc that replaces the system's in any program, and a task scheduler\n"
      "that replaces oneTBB's in programs built for it, without a rebuild.");
  app.name("corbel");
  app.formatter(std::make_shared<HelpFormatter>("COMMAND [OPTIONS]"));
  app.footer(kMainFooter);
  app.set_version_flag("--version", "corbel " CORBEL_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);

  std::vector<Subcommand> commands;
  for (const auto add :
       {add_run, add_compare, add_check, add_top, add_profile, add_leaks, add_trace}) {
    for (Subcommand& each : add(app)) commands.push_back(std::move(each));
  }

  const Arguments arguments = split(words);
  if (words.empty()) {
    fmt::print("{}", styled(app.help()));
    return kExitUsage;
  }
  try {
    // CLI11 expects the words in reverse order.
    app.parse(std::vector<std::string>(arguments.own.rbegin(), arguments.own.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", styled(app.help()));
    return kExitOk;
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::RequiredError& error) {
    const CLI::App* chosen = chosen_of(app);
    const std::string names = names_below(chosen);
    return usage_error(names.empty() ? error.what() : "a command is missing: " + names, chosen);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), chosen_of(app));
  }

  const CLI::App* chosen = chosen_of(app);
  const std::vector<std::string> command = whole_command(chosen, arguments);
  // A word before the command that looks like an option is a mistyped option.
  if (!chosen->remaining().empty() && chosen->remaining().front().rfind('-', 0) == 0) {
    return usage_error("unknown option: " + chosen->remaining().front(), chosen);
  }
  // CLI11 takes "--tbb=" and "--tbb=path" for "--tbb".
  const std::size_t options = arguments.own.size() - chosen->remaining().size();
  for (std::size_t i = 0; i < options; ++i) {
    const std::string& word = arguments.own[i];
    if (word.rfind("--tbb=", 0) == 0 && word != "--tbb=preload") {
      return usage_error("--tbb: " + tbb_problem(word.substr(6)), chosen);
    }
  }
  for (const Subcommand& each : commands) {
    if (each.app == chosen) return each.start(command);
  }
  return usage_error("a command is missing", chosen);
}

}  // namespace
}  // namespace corbel::cli

int main(int count, char** values) {
  try {
    corbel::cli::prepare_terminal();
    const int code = corbel::cli::main_of(corbel::cli::arguments_of(count, values));
    errno = 0;
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    // An earlier error has no number any more.
    corbel::cli::complain(fmt::format("cannot write to standard output{}{}", errno != 0 ? ": " : "",
                                      errno != 0 ? std::strerror(errno) : ""));
    return corbel::cli::kExitOwnFailure;
  } catch (const std::exception& error) {
    corbel::cli::complain(error.what());
    return corbel::cli::kExitOwnFailure;
  }
}
