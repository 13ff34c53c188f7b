// SPDX-License-Identifier: Apache-2.0
// Checks a command without running it. Like ldd, it sets LD_TRACE_LOADED_OBJECTS: the system's
// loader loads the command with the replacement, resolves every symbol, reports each binding, and
// stops before the first instruction of the program.
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "check.hpp"
#include "library.hpp"

extern char** environ;

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

struct LoaderSays {
  std::vector<std::string> objects;  // paths in search order, without the program itself
  std::vector<std::string> missing;
  std::vector<std::string> complaints;
  std::map<std::string, std::vector<Binding>> bindings;
  bool ran = false;
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "corbel-check-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

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

LoaderSays ask_loader(const std::string& path, const std::string& argv0, const std::string& preload,
                      const std::set<std::string>& wanted) {
  LoaderSays says;
  const TemporaryFolder folder;
  if (folder.path().empty()) return says;
  const std::string out = folder.path() / "out";
  const std::string errors = folder.path() / "err";

  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const bool ours = text.rfind("LD_PRELOAD=", 0) == 0 || text.rfind("LD_DEBUG", 0) == 0 ||
                      text.rfind("LD_TRACE_", 0) == 0 || text.rfind("LD_WARN=", 0) == 0 ||
                      text.rfind("LD_BIND_N", 0) == 0;
    if (!ours) variables.emplace_back(text);
  }
  if (!preload.empty()) variables.push_back("LD_PRELOAD=" + preload);
  variables.push_back("LD_TRACE_LOADED_OBJECTS=1");
  variables.push_back("LD_WARN=yes");
  variables.push_back("LD_BIND_NOW=yes");
  variables.push_back("LD_DEBUG=bindings");
  variables.push_back("LD_DEBUG_OUTPUT=" + (folder.path() / "bindings").string());
  std::vector<char*> environment;
  for (std::string& text : variables) environment.push_back(text.data());
  environment.push_back(nullptr);

  std::string name = argv0;
  char* arguments[] = {name.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int result =
      posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (result != 0) return says;
  int status = 0;
  waitpid(child, &status, 0);
  says.ran = true;
  read_object_list(out, says);
  read_complaints(errors, says);
  read_bindings(folder.path() / fmt::format("bindings.{}", child), wanted, says);
  return says;
}

bool links_corbel(const std::string& path) {
  const auto image = DynamicImage::from_file(path);
  if (!image) return false;
  const auto& needed = image->needed();
  if (std::any_of(needed.begin(), needed.end(), [](const std::string& name) {
        return name.rfind("libcorbelmalloc_proxy", 0) == 0 ||
               name.rfind("libtbbmalloc_proxy", 0) == 0;
      })) {
    return true;
  }
  return image->find("malloc").has_value() && file_is_corbel(path);
}

void explain_complaints(const LoaderSays& says, CheckReport& report) {
  for (const std::string& complaint : says.complaints) {
    const bool about_corbel = complaint.find("corbelmalloc") != std::string::npos ||
                              complaint.find("tbbmalloc_proxy") != std::string::npos;
    const bool missing = complaint.find("cannot open shared object file") != std::string::npos;
    if (about_corbel && !report.active) {
      report.reasons.insert(report.reasons.begin(),
                            {missing ? "missing-file" : "loader-refused",
                             fmt::format("the loader refused the library: {}", complaint),
                             {}});
    } else {
      report.notes.push_back(fmt::format("the loader says: {}", complaint));
    }
  }
  for (const std::string& name : says.missing) {
    report.notes.push_back(
        fmt::format("a library of the program is missing: {} (it would not start)", name));
  }
}

}  // namespace

CheckReport check_command(const std::vector<std::string>& command, bool as_is) {
  CheckReport report = new_report();
  const char* inherited = std::getenv(kPreloadVariable);
  const std::string old_preload = inherited != nullptr ? inherited : "";
  const LibrarySearch library = find_library();

  const Program program = examine_program(command.front(), library.path);
  report.target = program.path.empty() ? command.front() : program.path;
  if (program.error_code != 0) {
    report.error = program.error;
    report.error_code = 2;
    return report;
  }
  if (!program.scripts.empty()) {
    report.notes.push_back(fmt::format(
        "{} is a script: its interpreter was checked; programs it starts inherit the preload",
        program.scripts.front()));
  }

  const auto entries = preload_entries(old_preload);
  const bool preloaded = std::any_of(entries.begin(), entries.end(), [](const std::string& entry) {
    return is_corbel_library(entry);
  });
  const bool linked = links_corbel(program.path);
  std::string preload = old_preload;
  if (as_is || preloaded || linked) {
    report.mode = "as-is";
    report.how = linked      ? "linked with the replacement"
                 : preloaded ? fmt::format("started as it is here, LD_PRELOAD={}", old_preload)
                             : "started as it is here, without corbel run";
  } else {
    report.mode = "run";
    preload = prepend_preload(library.path.empty() ? kProxyName : library.path, old_preload);
    report.how = fmt::format("started by corbel run, LD_PRELOAD={}", preload);
    if (library.path.empty()) report.reasons.push_back({"missing-file", library.error, {}});
    if (const std::string problem = preload_path_problem(library.path); !problem.empty()) {
      report.reasons.push_back({"path", problem, "move the library, or link to it from elsewhere"});
    }
  }
  if (!program.obstacles.empty() && program.obstacles.front().id == "static" &&
      file_is_corbel(program.path)) {
    report.mode = "as-is";
    report.how = "a static binary with the replacement inside, where nothing is left to resolve";
    report.active = true;
    return report;
  }
  for (const Obstacle& obstacle : program.obstacles) {
    // A linked library needs no preload, so only the obstacles for the loader itself matter.
    if (linked && obstacle.id != "loader" && obstacle.id != "architecture") continue;
    report.reasons.push_back(obstacle);
  }
  if (!report.reasons.empty()) return report;

  std::set<std::string> wanted;
  for (const SymbolReport& symbol : report.symbols) wanted.insert(symbol.symbol);
  LoaderSays says = ask_loader(program.path, command.front(), preload, wanted);

  std::vector<LoadedObject> objects;
  const auto add = [&](const std::string& path) {
    auto image = DynamicImage::from_file(path);
    if (!image) return;
    LoadedObject object;
    object.path = path;
    object.real_path = path;
    object.image = std::move(*image);
    object.corbel = object_is_corbel(object);
    objects.push_back(std::move(object));
  };
  add(program.path);
  for (const std::string& path : says.objects) add(path);
  if (!says.ran || objects.size() < 2) {
    report.reasons.push_back(
        {"loader", fmt::format("the loader could not be asked about {}", program.path), {}});
    return report;
  }
  for (SymbolReport& symbol : report.symbols) {
    for (Binding& binding : says.bindings[symbol.symbol]) {
      if (binding.from == command.front()) binding.from = program.path;
      if (binding.to == command.front()) binding.to = program.path;
      symbol.bindings.push_back(std::move(binding));
    }
  }
  judge(objects, report);
  explain_complaints(says, report);
  return report;
}

}  // namespace corbel::cli
