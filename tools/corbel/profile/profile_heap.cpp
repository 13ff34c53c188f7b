// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap`: runs a command, and makes a profile of what it and its children wrote.
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "../library.hpp"
#include "../terminal.hpp"
#include "profile_command.hpp"
#include "profile_file.hpp"
#include "profile_page.hpp"
#include "report.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

// A folder of this run alone, which goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = variable("TMPDIR");
    if (name.empty()) name = "/tmp";
    name += "/corbel-profile-XXXXXX";
    if (name.find_first_of(",%") != std::string::npos) {
      throw std::runtime_error(
          fmt::format("TMPDIR has a ',' or a '%' in it, which CORBEL_PROFILE cannot express: {} "
                      "(set TMPDIR=/tmp)",
                      name));
    }
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(
          fmt::format("cannot make a folder {}: {} (set TMPDIR)", name, std::strerror(errno)));
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::vector<std::string> files() const {
    std::vector<std::string> list;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
      list.push_back(entry.path().string());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

 private:
  std::string path_;
};

// The command, for the handler that passes signals on.
volatile sig_atomic_t g_command = 0;

void pass_on(int signal) {
  const int error = errno;
  if (g_command > 0) kill(g_command, signal);
  errno = error;
}

// Runs `command` as a child and returns its wait status. What the terminal sends reaches both
// processes, so this one ignores it; what is sent to this one alone is passed on.
int run_child(const std::vector<std::string>& command, const std::string& path) {
  constexpr std::array kIgnored = {SIGINT, SIGQUIT};
  constexpr std::array kPassedOn = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    _exit(execute(command, path));
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  g_command = child;
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  for (const int signal : kIgnored) sigaction(signal, &action, nullptr);
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART;
  for (const int signal : kPassedOn) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  g_command = 0;
  return status;
}

// Ends this process as the command ended.
int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  // The command has dumped its core; this process must not put another one in its place.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::fflush(nullptr);
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  return 128 + signal;
}

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
        fmt::format("{} wrote no profile: it did not run on Corbel, or ended by _exit (see: "
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
    const TemporaryFolder folder;
    RunOptions run = options.run;
    run.profile = "heap";
    if (!options.every.empty()) run.profile += ",every=" + options.every;
    run.profile += ",file=" + folder.path() + "/%p.pb.gz";
    const PreparedRun prepared = prepare_run(run);
    if (prepared.error_code != 0) return prepared.error_code;
    const int status = run_child(run.command, prepared.path);
    const std::vector<std::string> files = folder.files();
    try {
      if (files.empty()) {
        explain_nothing(status, run.command.front());
      } else {
        report(options, output, files);
      }
    } catch (const std::runtime_error& error) {
      complain(error.what());
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitOwnFailure;
    }
    // A folder is not removed by a process that ends by a signal.
    std::error_code error;
    fs::remove_all(folder.path(), error);
    return end_like(status);
  } catch (const std::runtime_error& error) {
    complain(error.what());
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
