// SPDX-License-Identifier: Apache-2.0
#include "program/windows/program.hpp"

#include <fmt/core.h>
#include <windows.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "program/windows/library.hpp"
#include "program/windows/names.hpp"
#include "terminal.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

bool file_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Of a file in the search path or, if `name` has a folder, there; empty when there is none.
std::wstring search(const std::wstring& folders, const std::wstring& name,
                    const wchar_t* extension) {
  std::wstring path(32768, L'\0');
  path.resize(SearchPathW(folders.empty() ? nullptr : folders.c_str(), name.c_str(), extension,
                          static_cast<DWORD>(path.size()), path.data(), nullptr));
  return path;
}

std::wstring system_folder() {
  wchar_t path[MAX_PATH + 1];
  return std::wstring(path, GetSystemDirectoryW(path, MAX_PATH));
}

struct Found {
  std::wstring path;
  std::string error;
  int code = 0;
};

Found look_up(const std::string& command) {
  if (command.empty()) return {{}, "the command is empty", kExitNotFound};
  const std::wstring name = wide(command);
  const bool has_folder = name.find_first_of(L"\\/:") != std::wstring::npos;
  if (has_folder) {
    std::error_code error;
    if (fs::is_directory(name, error)) {
      return {{}, fmt::format("{}: is a directory", command), kExitCannotExecute};
    }
    for (const std::wstring& path : {name, name + L".exe"}) {
      if (file_exists(path)) return {fs::absolute(path).make_preferred().native(), {}, 0};
    }
    return {{}, fmt::format("{}: no such file", command), kExitNotFound};
  }
  const std::wstring path = search({}, name, L".exe");
  if (path.empty()) return {{}, fmt::format("{}: command not found", command), kExitNotFound};
  return {path, {}, 0};
}

// Finds the DLLs that `program` and they themselves import, without those of Windows.
class Imports {
 public:
  explicit Imports(Program& program)
      : program_(program), folder_(fs::path(wide(program.path)).parent_path()) {}

  void collect() {
    take(program_.path, program_.image);
    // Grows meanwhile.
    for (std::size_t i = 0; i < program_.modules.size(); ++i) {
      const std::vector<PeImport> imports = program_.modules[i].image.imports;
      for (const PeImport& import : imports) {
        if (!import.delayed) follow(import.dll, i);
      }
    }
  }

 private:
  void take(const std::string& path, const PeImage& image) {
    ProgramModule module{path, image, {}};
    std::set<std::string> runtimes;
    for (const PeImport& import : image.imports) {
      if (is_c_runtime(import.dll)) runtimes.insert(runtime_of(import.dll));
    }
    module.runtimes.assign(runtimes.begin(), runtimes.end());
    program_.modules.push_back(std::move(module));
  }

  void follow(const std::string& dll, std::size_t from) {
    // Sets of functions of Windows have names of DLLs, but no files.
    const std::string name = lower(dll);
    if (name.rfind("api-ms-", 0) == 0 || name.rfind("ext-ms-", 0) == 0) return;
    if (!seen_.insert(name).second) return;
    const std::wstring file = wide(dll);
    std::wstring path = (folder_ / file).native();
    if (!file_exists(path)) {
      if (file_exists(fs::path(system_) / file)) return;
      path = search({}, file, L".dll");
    }
    if (path.empty()) {
      // What Windows has in itself has no file in Wine, or lies elsewhere.
      if (const HMODULE module = LoadLibraryExW(file.c_str(), nullptr, LOAD_LIBRARY_AS_DATAFILE)) {
        FreeLibrary(module);
      } else {
        program_.missing.push_back(dll);
      }
      return;
    }
    const std::string utf8 = narrow(path);
    if (is_proxy_name(dll)) {
      if (!is_corbel_proxy(utf8)) {
        program_.other_proxy = utf8;
      } else if (from == 0) {
        program_.is_linked = true;
      }
    }
    if (const auto image = read_pe_image(utf8); image && !is_c_runtime(dll)) take(utf8, *image);
  }

  Program& program_;
  fs::path folder_;
  std::wstring system_ = system_folder();
  std::set<std::string> seen_;
};

std::vector<Obstacle> find_obstacles(const Program& program) {
  std::vector<Obstacle> list;
  if (program.image.is_only_managed) {
    list.push_back({"managed",
                    "it is a program for .NET, whose objects live in .NET's own heap: there is "
                    "nothing to replace",
                    {}});
    return list;
  }
  if (program.image.machine != kMachineX64) {
    list.push_back({"architecture",
                    fmt::format("wrong architecture: the program is {}, the library {}",
                                machine_name(program.image.machine), machine_name(kMachineX64)),
                    {}});
    return list;
  }
  if (!program.image.is_complete) {
    list.push_back({"truncated", "the file is truncated: it ends before its sections do",
                    "build or install it again"});
    return list;
  }
  if (!program.other_proxy.empty()) list.push_back(other_proxy(program.other_proxy));
  const bool has_runtime =
      std::any_of(program.modules.begin(), program.modules.end(),
                  [](const ProgramModule& module) { return !module.runtimes.empty(); });
  if (!has_runtime && !program.is_linked) {
    list.push_back({"static",
                    "neither the program nor its DLLs import a C runtime: it is linked into them "
                    "(/MT), so there is nothing to replace",
                    "build the program with the runtime's DLLs (/MD)"});
  }
  return list;
}

}  // namespace

Obstacle other_proxy(const std::string& path) {
  return {"other-malloc", fmt::format("{} is TBB's own replacement of malloc, not Corbel's", path),
          "replace TBB's DLLs by Corbel's of the same names"};
}

Program examine_program(const std::string& command) {
  Program program;
  const Found found = look_up(command);
  if (!found.error.empty()) {
    program.error = found.error;
    program.error_code = found.code;
    return program;
  }
  program.path = narrow(found.path);
  const auto image = read_pe_image(program.path);
  if (!image || image->is_dll) {
    const std::string extension = lower(narrow(fs::path(found.path).extension().native()));
    const bool batch = extension == ".bat" || extension == ".cmd";
    program.error =
        batch ? fmt::format(
                    "{}: is a batch file, which cmd.exe runs: start the program in it with "
                    "corbel run",
                    program.path)
              : fmt::format("{}: is not a program for Windows", program.path);
    program.error_code = kExitCannotExecute;
    return program;
  }
  program.image = *image;
  program.is_linked = image->has_corbel;
  if (image->machine == kMachineX64) Imports(program).collect();
  program.obstacles = find_obstacles(program);
  return program;
}

}  // namespace corbel::cli
