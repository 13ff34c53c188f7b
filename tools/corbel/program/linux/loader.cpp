// SPDX-License-Identifier: Apache-2.0
#include "program/loader.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "temporary_folder.hpp"

extern char** environ;

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

void read_object_list(const fs::path& file, LoaderSays& says) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    // "\tname => path (0x…)", "\tpath (0x…)" or "\tname => not found".
    if (line.empty() || line[0] != '\t') continue;
    line.erase(0, 1);
    const std::size_t arrow = line.find(" => ");
    const std::string name = line.substr(0, arrow);
    std::string path = arrow == std::string::npos ? line : line.substr(arrow + 4);
    if (path == "not found") {
      says.missing.push_back(name);
      continue;
    }
    const std::size_t address = path.rfind(" (0x");
    if (address == std::string::npos) continue;
    path.resize(address);
    if (path.find('/') != std::string::npos) says.objects.push_back(path);
  }
}

void read_complaints(const fs::path& file, LoaderSays& says) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view head = "ERROR: ld.so: ";
    if (line.rfind(head, 0) == 0) says.complaints.push_back(line.substr(head.size()));
  }
}

void read_bindings(const fs::path& file, const std::set<std::string>& wanted, LoaderSays& says) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    // "PID:\tbinding file FROM [0] to TO [0]: normal symbol `NAME' [VERSION]"
    const std::string_view start = "binding file ";
    const std::size_t from = line.find(start);
    const std::size_t middle = line.find(" [0] to ");
    const std::size_t quote = line.find(" symbol `");
    if (from == std::string::npos || middle == std::string::npos || quote == std::string::npos) {
      continue;
    }
    const std::size_t end_of_to = line.rfind(" [", quote);
    const std::size_t name = quote + 9;
    const std::string symbol = line.substr(name, line.find('\'', name) - name);
    if (wanted.count(symbol) == 0 || end_of_to == std::string::npos) continue;
    Binding binding{line.substr(from + start.size(), middle - from - start.size()),
                    line.substr(middle + 8, end_of_to - middle - 8)};
    says.bindings[symbol].push_back(std::move(binding));
  }
}

}  // namespace

LoaderSays ask_loader(const LoaderQuestion& question) {
  LoaderSays says;
  const TemporaryFolder folder("corbel-check");
  if (folder.path().empty()) return says;
  const std::string out = folder.path() + "/out";
  const std::string errors = folder.path() + "/err";

  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const bool ours = text.rfind("LD_PRELOAD=", 0) == 0 || text.rfind("LD_DEBUG", 0) == 0 ||
                      text.rfind("LD_TRACE_", 0) == 0 || text.rfind("LD_WARN=", 0) == 0 ||
                      text.rfind("LD_BIND_N", 0) == 0 ||
                      (question.library_path && text.rfind("LD_LIBRARY_PATH=", 0) == 0);
    if (!ours) variables.emplace_back(text);
  }
  if (!question.preload.empty()) variables.push_back("LD_PRELOAD=" + question.preload);
  if (question.library_path) variables.push_back("LD_LIBRARY_PATH=" + *question.library_path);
  variables.push_back("LD_TRACE_LOADED_OBJECTS=1");
  if (!question.symbols.empty()) {
    variables.push_back("LD_WARN=yes");
    variables.push_back("LD_BIND_NOW=yes");
    variables.push_back("LD_DEBUG=bindings");
    variables.push_back("LD_DEBUG_OUTPUT=" + folder.path() + "/bindings");
  }
  std::vector<char*> environment;
  for (std::string& text : variables) environment.push_back(text.data());
  environment.push_back(nullptr);

  std::string name = question.argv0;
  char* arguments[] = {name.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int result =
      posix_spawn(&child, question.path.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (result != 0) return says;
  int status = 0;
  waitpid(child, &status, 0);
  says.ran = true;
  read_object_list(out, says);
  read_complaints(errors, says);
  read_bindings(fmt::format("{}/bindings.{}", folder.path(), child), question.symbols, says);
  return says;
}

}  // namespace corbel::cli
