// SPDX-License-Identifier: Apache-2.0
// The file that a command really executes, and the obstacles for a preloaded library in it.
#include "program/program.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

struct Found {
  std::string path;
  std::string error;
  int code = 0;
};

// Like execvp: a name with a slash is a path, any other is searched in PATH.
Found look_up(const std::string& command) {
  const auto runnable = [](const std::string& path) {
    struct stat info{};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) {
    std::error_code error;
    if (!fs::exists(command, error)) {
      return {{}, fmt::format("{}: no such file", command), kExitNotFound};
    }
    if (fs::is_directory(command, error)) {
      return {{}, fmt::format("{}: is a directory", command), kExitCannotExecute};
    }
    if (!runnable(command)) {
      return {
          {}, fmt::format("{}: not executable (permission denied)", command), kExitCannotExecute};
    }
    return {command, {}, 0};
  }
  if (command.empty()) return {{}, "the command is empty", kExitNotFound};
  const char* variable = std::getenv("PATH");
  std::istringstream path(variable != nullptr ? variable : "/bin:/usr/bin");
  std::string folder;
  std::string refused;
  while (std::getline(path, folder, ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + command;
    if (runnable(candidate)) return {candidate, {}, 0};
    std::error_code error;
    if (refused.empty() && fs::is_regular_file(candidate, error)) refused = candidate;
  }
  if (!refused.empty()) {
    return {{}, fmt::format("{}: not executable (permission denied)", refused), kExitCannotExecute};
  }
  return {{}, fmt::format("{}: command not found", command), kExitNotFound};
}

// The interpreter that a "#!" line names; "/usr/bin/env X" gives X. Empty when there is none.
std::string interpreter_of(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line.rfind("#!", 0) != 0) return {};
  std::istringstream words(line.substr(2));
  std::string program;
  words >> program;
  if (fs::path(program).filename() != "env") return program;
  for (std::string word; words >> word;) {
    if (word[0] != '-' && word.find('=') == std::string::npos) return word;
  }
  return program;
}

// A program that gains rights by exec starts in the loader's secure mode, which ignores LD_PRELOAD.
// A setuid program that belongs to the calling user gains none.
std::optional<Obstacle> gains_rights(const std::string& path) {
  struct stat info{};
  struct statvfs system{};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  const bool ignored = (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) ||
                       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
  if (ignored) return std::nullopt;
  const std::string help =
      "the loader ignores LD_PRELOAD in programs that gain rights; link the program with the "
      "library, or run it without the extra rights";
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) {
    return Obstacle{"setuid", "the program is setuid (it starts as another user)", help};
  }
  if ((info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != getgid()) {
    return Obstacle{"setgid", "the program is setgid (it starts in another group)", help};
  }
  if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return Obstacle{"capabilities", "the program has file capabilities", help};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Obstacle> find_obstacles(const std::string& path, const ElfFacts& facts,
                                     const std::string& library) {
  std::vector<Obstacle> list;
  if (const auto own = read_elf_facts(library);
      own && (own->machine != facts.machine || own->bits != facts.bits)) {
    list.push_back({"architecture",
                    fmt::format("wrong architecture: the program is {}, the library {}",
                                machine_name(facts.machine, facts.bits),
                                machine_name(own->machine, own->bits)),
                    fmt::format("build Corbel for {}", machine_name(facts.machine, facts.bits))});
    return list;
  }
  if (facts.is_truncated) {
    list.push_back({"truncated", "the file is truncated: it ends before its segments do",
                    "build or install it again"});
    return list;
  }
  const bool is_loader =
      facts.has_dynamic && fs::path(path).filename().string().rfind("ld-linux", 0) == 0;
  if (is_loader) return list;
  if (facts.interpreter.empty()) {
    list.push_back({"static",
                    "static binary: it has no dynamic loader, so nothing can be preloaded",
                    "link the program with libcorbelmalloc_proxy.a instead"});
  } else if (facts.interpreter.find("ld-musl") != std::string::npos) {
    list.push_back(
        {"musl",
         fmt::format("the program runs on musl ({}); the library needs glibc", facts.interpreter),
         "build the program for glibc"});
  } else if (std::error_code error; !fs::exists(facts.interpreter, error)) {
    list.push_back(
        {"loader",
         fmt::format("its loader {} does not exist here, so it cannot start", facts.interpreter),
         {}});
  }
  if (auto rights = gains_rights(path)) list.push_back(*rights);
  return list;
}

Program examine_program(const std::string& command, const std::string& library) {
  Program program;
  program.command = command;
  std::string name = command;
  for (int depth = 0; depth < 6; ++depth) {
    const Found found = look_up(name);
    if (!found.error.empty()) {
      program.error = found.error;
      program.error_code = found.code;
      if (!program.scripts.empty()) {
        program.error =
            fmt::format("{} (the interpreter of {})", found.error, program.scripts.back());
        program.error_code = kExitCannotExecute;
      }
      return program;
    }
    program.elf = read_elf_facts(found.path);
    if (program.elf) {
      program.path = found.path;
      program.obstacles = find_obstacles(found.path, *program.elf, library);
      return program;
    }
    program.scripts.push_back(found.path);
    const std::string next = interpreter_of(found.path);
    // The shell runs a file that is neither ELF nor starts with "#!", as with execvp.
    name = next.empty() ? "/bin/sh" : next;
  }
  program.error = fmt::format("{}: too many scripts that interpret each other", command);
  program.error_code = kExitCannotExecute;
  return program;
}

}  // namespace corbel::cli
