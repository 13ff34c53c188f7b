// SPDX-License-Identifier: Apache-2.0
// The sub-commands, each with the function that declares its options, and what those share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "program/tbb_report.hpp"

namespace corbel::cli {

struct Subcommand {
  CLI::App* app = nullptr;
  // Carries it out with `command`, the words after the options; returns the exit code. Empty in a
  // sub-command that only groups others.
  std::function<int(const std::vector<std::string>& command)> start;
};

// Each adds a sub-command to `parent`. The options that were read live as long as `start`.
std::vector<Subcommand> add_run(CLI::App& parent);
std::vector<Subcommand> add_compare(CLI::App& parent);
std::vector<Subcommand> add_check(CLI::App& parent);
std::vector<Subcommand> add_top(CLI::App& parent);

std::vector<Subcommand> add_profile(CLI::App& parent);
std::vector<Subcommand> add_leaks(CLI::App& parent);

std::vector<Subcommand> add_trace(CLI::App& parent);

// Adds an empty sub-command. `words` is what its usage line says after the options.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& words, const std::string& footer);

// The name of a sub-command with those of the commands around it, without "corbel".
std::string full_name(const CLI::App* app);

// Adds --tbb. `word` becomes empty, "path" or "preload".
void add_tbb(CLI::App* app, std::string& word, const std::string& text);
TbbMode tbb_mode(const std::string& word);
// What is wrong with a value of --tbb that CLI11 lets pass.
std::string tbb_problem(const std::string& value);

// Validators without a name, which CLI11 would print after every option.
CLI::Validator at_least(long least);
CLI::Validator memory_amount();
CLI::Validator sample_interval();
CLI::Validator seconds();  // from 0.1 to a day

// Prints a wrong use of `app`, and how to get help; returns the exit code.
int usage_error(const std::string& text, const CLI::App* app);

// The layout of the help: wider columns and plainer words than CLI11's own.
class HelpFormatter : public CLI::Formatter {
 public:
  // `words` is what the usage line says after the options.
  explicit HelpFormatter(std::string words);
  std::string make_footer(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool) const override;
  std::string make_option_opts(const CLI::Option* option) const override;

 private:
  std::string words_;
};

}  // namespace corbel::cli
