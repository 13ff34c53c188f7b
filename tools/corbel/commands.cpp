// SPDX-License-Identifier: Apache-2.0
// What the sub-commands share: the layout of the help, validators, --tbb.
#include "commands.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "run/settings.hpp"
#include "terminal.hpp"

namespace corbel::cli {

HelpFormatter::HelpFormatter(std::string words) : words_(std::move(words)) {
  column_width(34);
  label("OPTIONS", "OPTIONS");
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string text = app->get_footer();
  return text.empty() ? text : text + "\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string) const {
  std::string usage = "corbel ";
  if (app->get_parent() != nullptr) usage += full_name(app) + " ";
  return paint("Usage:", Colour::kBold) + " " + usage + words_ + "\n";
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool) const {
  std::string name = option->get_name(false, true);
  name = name.substr(0, name.find('{'));  // without the default of a bare flag
  if (const std::size_t comma = name.find(','); comma != std::string::npos) {
    name.insert(comma + 1, " ");
  } else {
    name.insert(0, "    ");
  }
  return name;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return {};
  // A flag and its value form one word: --stats[=json].
  const std::string type = option->get_type_name();
  return (type.rfind("[=", 0) == 0 ? "" : " ") + type;
}

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& words, const std::string& footer) {
  CLI::App* app = parent.add_subcommand(name, description);
  app->group("Commands");
  app->formatter(std::make_shared<HelpFormatter>(words));
  app->set_help_flag("-h,--help", "Print this help");
  app->footer(footer);
  return app;
}

std::string full_name(const CLI::App* app) {
  std::string name;
  for (; app != nullptr && app->get_parent() != nullptr; app = app->get_parent()) {
    name = name.empty() ? app->get_name() : app->get_name() + " " + name;
  }
  return name;
}

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

CLI::Validator sample_interval() {
  return CLI::Validator(
      [](std::string& text) {
        char* end = nullptr;
        const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
        const std::string unit = end;
        const bool good = !text.empty() && text[0] >= '0' && text[0] <= '9' && value > 0 &&
                          value <= 1u << 30 &&
                          (unit.empty() || unit == "K" || unit == "M" || unit == "G");
        return good ? std::string()
                    : "a number of bytes expected, such as 65536, 512K or 4M, not '" + text + "'";
      },
      "");
}

CLI::Validator seconds() {
  return CLI::Validator(
      [](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return text.empty() || *end != '\0' || !(value >= 0.1 && value <= 86400)
                   ? "seconds from 0.1 to 86400 expected, not '" + text + "'"
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

int usage_error(const std::string& text, const CLI::App* app) {
  complain(text);
  const std::string name = full_name(app);
  fmt::print(stderr, "Try 'corbel {}--help'.\n", name.empty() ? "" : name + " ");
  return kExitUsage;
}

}  // namespace corbel::cli
