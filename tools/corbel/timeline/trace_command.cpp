// SPDX-License-Identifier: Apache-2.0
// `corbel trace`: runs a command and makes the timeline of its tasks, or shows one that was
// written.
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "commands.hpp"
#include "program/library.hpp"
#include "program/program.hpp"
#include "program/tbb.hpp"
#include "run/run.hpp"
#include "terminal.hpp"
#include "timeline/function_names.hpp"
#include "timeline/timeline_page.hpp"
#include "timeline/trace_file.hpp"

namespace corbel::cli {
namespace {

constexpr char kFooter[] =
    "Runs a command and writes a timeline of its tasks, waits, steals and idle times: one HTML "
    "page\n"
    "that needs no network, or, if FILE ends with .json, a file for https://ui.perfetto.dev. The\n"
    "command must use Corbel's scheduler; --tbb lets one that was built for oneTBB use it.\n"
    "Tracing measures every task, so a program with tiny ones runs several times slower.\n"
    "\n"
    "Exit code: the command's, but 125 when that is 0 and there is no timeline; 127 when the\n"
    "command is not found, 126 when it cannot be executed, 2 for wrong options. The command "
    "writes\n"
    "to a file in TMPDIR first.\n"
    "\n"
    "Examples:\n"
    "  corbel trace -- ./app input                   writes app.trace.html\n"
    "  corbel trace -o app.json -- ./app input       for Perfetto\n"
    "  corbel trace show app.json                    the page of a file that is there";

constexpr char kShowFooter[] =
    "FILE is what CORBEL_TRACE=FILE ./app has written, or corbel trace -o FILE.json. The names of\n"
    "functions come from the program's symbol table, so it should still be where it was.\n"
    "\n"
    "Exit code: 0; 1 when FILE cannot be read, is not a trace or is cut off, or the page cannot "
    "be\n"
    "written; 2 for wrong options.\n"
    "\n"
    "Example:\n"
    "  corbel trace show app.json -o app.html";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Why the file cannot be written; empty if it can. Leaves none that was not there.
std::string output_problem(const std::string& path) {
  const bool exists = access(path.c_str(), F_OK) == 0;
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) {
    return fmt::format("cannot write {}: {}; choose another file with -o", path,
                       std::strerror(errno));
  }
  std::fclose(file);
  if (!exists) unlink(path.c_str());
  return {};
}

// Writes what the trace file has to `output`. Returns whether that was possible.
bool convert(const std::string& trace_file, const std::string& title, const std::string& output) {
  timeline::Trace trace;
  std::string problem = read_trace(trace_file, &trace);
  if (problem.empty()) {
    name_functions(&trace);
    problem =
        ends_with(output, ".json") ? write_trace(trace, output) : write_page(trace, title, output);
  }
  if (problem.empty()) {
    tell(fmt::format("corbel: the timeline is in {}\n", output));
    return true;
  }
  complain(problem);
  return false;
}

struct TemporaryFile {
  TemporaryFile() {
    std::string folder = variable("TMPDIR");
    path = (folder.empty() ? "/tmp" : folder) + "/corbel-trace-XXXXXX";
    const int fd = mkstemp(path.data());
    if (fd < 0) {
      problem = fmt::format("cannot make a file {}: {}; set TMPDIR to a folder with room", path,
                            std::strerror(errno));
      return;
    }
    close(fd);
  }
  ~TemporaryFile() {
    if (problem.empty()) unlink(path.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path, problem;
};

volatile sig_atomic_t g_command = 0;

void pass_on(int signal) {
  const int error = errno;
  if (g_command > 0) kill(g_command, signal);
  errno = error;
}

// Runs the command and returns its exit code. What the terminal sends reaches both processes, so
// this one ignores it; what is sent to this one alone is passed on.
int run_child(const std::vector<std::string>& command, const std::string& path) {
  const pid_t child = fork();
  if (child < 0) {
    complain(fmt::format("cannot start {}: {}", path, std::strerror(errno)));
    return kExitOwnFailure;
  }
  if (child == 0) _exit(execute(command, path));
  g_command = child;
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, pass_on);
  signal(SIGHUP, pass_on);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // The raw file is removed even if the reader of the messages goes.
  signal(SIGPIPE, SIG_IGN);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  complain(fmt::format("the command was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status))));
  return 128 + WTERMSIG(status);
}

int trace(const std::vector<std::string>& command, std::string output, TbbMode tbb) {
  const LibrarySearch library = tbb == TbbMode::kOff ? LibrarySearch() : find_library();
  if (!library.error.empty()) {
    complain(library.error);
    return kExitOwnFailure;
  }
  const Program program = examine_program(command.front(), library.path);
  if (program.error_code != 0) {
    complain(program.error);
    return program.error_code;
  }
  if (tbb != TbbMode::kOff) {
    const TbbSetup setup =
        set_up_tbb(tbb, library.path, program, variable(kPreloadVariable), variable(kPathVariable));
    if (!setup.error.empty()) {
      complain(setup.error);
      return kExitOwnFailure;
    }
    if (!setup.preload.empty()) setenv(kPreloadVariable, setup.preload.c_str(), 1);
    setenv(kPathVariable, setup.library_path.c_str(), 1);
  }
  if (output.empty()) output = file_name(command.front()) + ".trace.html";
  const TemporaryFile raw;
  std::string problem = raw.problem;
  if (problem.empty()) problem = output_problem(output);
  if (!problem.empty()) {
    complain(problem);
    return kExitOwnFailure;
  }
  setenv("CORBEL_TRACE", raw.path.c_str(), 1);
  const std::string& start = program.scripts.empty() ? program.path : program.scripts.front();
  const int code = run_child(command, start);
  if (code == kExitNotFound || code == kExitCannotExecute) return code;
  struct stat status;
  std::string title;
  for (const std::string& word : command) title += (title.empty() ? "" : " ") + word;
  if (stat(raw.path.c_str(), &status) == 0 && status.st_size == 0) {
    complain(fmt::format(
        "{} has written no timeline: it makes no parallel call on Corbel's scheduler{}, was "
        "killed, or there was no room for {} (set TMPDIR to a folder with room)",
        command.front(),
        tbb == TbbMode::kOff ? " (if it is built for oneTBB: corbel trace --tbb)" : "", raw.path));
    return code != 0 ? code : kExitOwnFailure;
  }
  if (!convert(raw.path, title, output)) return code != 0 ? code : kExitOwnFailure;
  return code;
}

}  // namespace

std::vector<Subcommand> add_trace(CLI::App& parent) {
  const auto output = std::make_shared<std::string>();
  const auto tbb = std::make_shared<std::string>();
  CLI::App* app = add_command(parent, "trace", "Draw the tasks of a command on a timeline",
                              "[OPTIONS] -- CMD …   or   corbel trace show FILE", kFooter);
  app->prefix_command();
  app->add_option("-o,--output", *output, "The page, or a .json for Perfetto (CMD.trace.html)")
      ->type_name("FILE");
  add_tbb(app, *tbb, "For a program that was built for oneTBB: run it on Corbel's");

  const auto file = std::make_shared<std::string>();
  const auto page = std::make_shared<std::string>();
  CLI::App* show = add_command(*app, "show", "Make the page of a trace that was written",
                               "FILE [-o PAGE]", kShowFooter);
  show->add_option("FILE", *file, "What CORBEL_TRACE=FILE or corbel trace has written")->required();
  show->add_option("-o,--output", *page, "The page, or a .json with names (FILE.html)")
      ->type_name("PAGE");
  return {{app,
           [=](const std::vector<std::string>& command) {
             if (command.empty()) return usage_error("no command given after '--'", app);
             return trace(command, *output, tbb_mode(*tbb));
           }},
          {show, [=](const std::vector<std::string>& rest) {
             if (!rest.empty()) return usage_error("one FILE expected", show);
             std::string to = *page;
             if (to.empty()) {
               const std::string base =
                   ends_with(*file, ".json") ? file->substr(0, file->size() - 5) : *file;
               to = base + ".html";
             }
             return convert(*file, file_name(*file), to) ? kExitOk : kExitNo;
           }}};
}

}  // namespace corbel::cli
