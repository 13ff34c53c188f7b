// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap`: runs a command, and makes a profile of what it and its children wrote.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "profile/profile_command.hpp"
#include "profile/profile_page.hpp"
#include "profile/report.hpp"
#include "program/library.hpp"
#include "run/child.hpp"
#include "temporary_folder.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

// "app.heap.pb.gz", or "app.heap.2.pb.gz" where that exists: an older profile is there to be
// compared with.
std::string default_output(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  std::string result = name + ".heap.pb.gz";
  std::error_code error;
  for (int i = 2; fs::exists(result, error); ++i) result = fmt::format("{}.heap.{}.pb.gz", name, i);
  return result;
}

std::string page_beside(const std::string& output) {
  std::string stem = output;
  for (const std::string_view ending : {".gz", ".pb"}) {
    if (stem.size() > ending.size() &&
        stem.compare(stem.size() - ending.size(), ending.size(), ending) == 0) {
      stem.resize(stem.size() - ending.size());
    }
  }
  return stem + ".html";
}

// Found before the command runs, perhaps for hours.
void check_writable(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string name = folder.empty() ? "." : folder.string();
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw std::runtime_error(fmt::format("cannot write {}: it is a directory", path));
  }
  if (access(name.c_str(), W_OK) != 0 && access(path.c_str(), W_OK) != 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {} (choose another place with -o)", path,
                                         std::strerror(errno)));
  }
}

void explain_nothing(int status, const std::string& command) {
  if (WIFSIGNALED(status)) {
    complain(fmt::format("{} wrote no profile: signal {} ({}) ended it", command, WTERMSIG(status),
                         strsignal(WTERMSIG(status))));
  } else {
    complain(
        fmt::format("{} wrote no profile: it requested no memory, ended by _exit, or did not run "
                    "on Corbel (see: "
                    "corbel check -- {})",
                    command, command));
  }
}

void report(const HeapOptions& options, const std::string& output,
            const std::vector<std::string>& files) {
  const Profile profile = load_profiles(files);
  write_profile(profile, output);
  const std::string page = options.page.empty() ? page_beside(output) : options.page;
  if (!options.no_page) {
    std::string title;
    for (const std::string& word : options.run.command) title += (title.empty() ? "" : " ") + word;
    write_file(page, profile_page(profile, title));
  }
  if (profile.samples.empty()) {
    complain(
        fmt::format("no samples: the command requested too little memory for one (sample "
                    "more often, as with --every 4K)"));
  } else {
    fmt::print(stderr, "{}", profile_table(profile, 10, 2));
  }
  if (!options.no_page) fmt::print(stderr, "page:    {} (open it in a browser)\n", page);
  fmt::print(stderr, "profile: {} (pprof -http=: {})\n", output, output);
}

}  // namespace

int profile_heap(const HeapOptions& options) {
  try {
    const std::string output =
        options.output.empty() ? default_output(options.run.command.front()) : options.output;
    check_writable(output);
    if (!options.no_page && !options.page.empty()) check_writable(options.page);
    const TemporaryFolder folder("corbel-profile");
    RunOptions run = options.run;
    run.profile = "heap";
    if (!options.every.empty()) run.profile += ",every=" + options.every;
    run.profile += ",file=" + path_for(folder, "CORBEL_PROFILE") + "/%p.pb.gz";
    const PreparedRun prepared = prepare_run(run);
    if (prepared.error_code != 0) return prepared.error_code;
    const int status = run_child(run.command, prepared.path).status;
    const std::vector<std::string> files = folder.files();
    try {
      if (files.empty()) {
        explain_nothing(status, run.command.front());
      } else {
        report(options, output, files);
      }
    } catch (const std::runtime_error& error) {
      complain(printable(error.what()));
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
    }
    // A folder is not removed by a process that ends by a signal.
    std::error_code error;
    fs::remove_all(folder.path(), error);
    return end_like(status);
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
