// SPDX-License-Identifier: Apache-2.0
#include "top/top.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include "run/run.hpp"
#include "terminal.hpp"
#include "top/heap_sample.hpp"
#include "top/prometheus.hpp"
#include "top/top_screen.hpp"

namespace corbel::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The command of `corbel top -- CMD`.
class Child {
 public:
  // `quiet`: its output would disturb the screen.
  Child(const TopOptions& options, bool quiet) {
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    const int output = quiet ? open("/dev/null", O_RDWR) : STDERR_FILENO;
    dup2(output, STDOUT_FILENO);
    if (quiet) {
      dup2(output, STDIN_FILENO);
      dup2(output, STDERR_FILENO);
    }
    RunOptions run_options;
    run_options.command = options.command;
    run_options.tbb = options.tbb;
    _exit(run(run_options));
  }

  int pid() const { return pid_; }

  bool has_ended() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return ended_;
  }

  // Waits for the end; returns the exit code as a shell does.
  int exit_code() {
    while (!ended_) ended_ = waitpid(pid_, &status_, 0) == pid_ || errno != EINTR;
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

AskOptions ask_options(const TopOptions& options) {
  AskOptions result;
  result.into_sandbox = options.into_sandbox;
  return result;
}

// A command that has just been started has no heap yet. After this many seconds it is an error.
constexpr double kStartTime = 5;

std::optional<HeapSample> first_sample(const TopOptions& options, int pid, Child* child,
                                       std::string& error) {
  const auto end = Clock::now() + std::chrono::duration<double>(kStartTime);
  for (;;) {
    auto sample = take_sample(pid, ask_options(options), error);
    if (sample || child == nullptr || child->has_ended() || Clock::now() >= end) return sample;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// ---- one process --------------------------------------------------------------------------------

void print_sample(const TopOptions& options, const HeapSample* before, const HeapSample& now) {
  if (options.prometheus) {
    fmt::print("{}", to_prometheus({now}));
  } else if (options.json) {
    fmt::print("{}\n", sample_to_json(before, now));
  } else {
    fmt::print("{}\n", summary_line(before, now));
  }
  std::fflush(stdout);
}

void draw(Screen& screen, const History& history) {
  screen.show(draw_process(history, terminal_width(STDOUT_FILENO), terminal_height(STDOUT_FILENO)));
}

enum class End { kWanted, kProcess };

// Shows samples until the user or the process ends it.
End watch(const TopOptions& options, int pid, HeapSample first, bool on_screen,
          std::string& error) {
  const std::unique_ptr<Screen> screen(on_screen ? new Screen : nullptr);
  History history;
  history.add(std::move(first));
  for (;;) {
    if (screen != nullptr) {
      draw(*screen, history);
    } else {
      print_sample(options, history.before(), history.last());
    }
    // main() says that nothing can be written.
    if (options.once || std::ferror(stdout) != 0) return End::kWanted;
    const auto next = Clock::now() + std::chrono::duration<double>(options.interval);
    for (auto now = Clock::now(); now < next; now = Clock::now()) {
      const double left = std::chrono::duration<double>(next - now).count();
      if (screen == nullptr) {
        std::this_thread::sleep_for(next - now);
      } else if (const char key = screen->wait(left); key == 'q' || key == 'Q' || key == 3) {
        return End::kWanted;
      } else {
        draw(*screen, history);  // the size may have changed
      }
    }
    auto sample = take_sample(pid, ask_options(options), error);
    if (!sample) {
      const auto process = read_process(pid);
      if (!process || process->is_over()) error = fmt::format("process {} has ended", pid);
      return End::kProcess;
    }
    history.add(std::move(*sample));
  }
}

int watch_one(const TopOptions& options, bool on_screen) {
  std::unique_ptr<Child> child;
  int pid = options.pid;
  if (!options.command.empty()) {
    child = std::make_unique<Child>(options, on_screen);
    pid = child->pid();
    if (pid < 0) {
      complain(fmt::format("cannot start a process: {}", std::strerror(errno)));
      return kExitOwnFailure;
    }
  }
  std::string error;
  auto first = first_sample(options, pid, child.get(), error);
  if (!first) {
    // A command that could not be started has said why.
    if (child != nullptr && child->has_ended()) return child->exit_code();
    complain(error);
    return child != nullptr ? child->exit_code() : kExitNo;
  }
  const End end = watch(options, pid, std::move(*first), on_screen, error);
  if (child != nullptr) return child->exit_code();
  if (end == End::kWanted) return kExitOk;
  complain(error);
  return kExitNo;
}

// ---- all processes ------------------------------------------------------------------------------

std::vector<ListEntry> sample_all(const TopOptions& options) {
  std::vector<ListEntry> entries;
  AskOptions ask = ask_options(options);
  // One process that does not answer must not hold up the others for long.
  ask.patience = std::chrono::milliseconds(500);
  for (ProcessFacts& process : processes_on_corbel()) {
    ListEntry entry;
    entry.sample = take_sample(process.pid, ask, entry.error);
    entry.process = std::move(process);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<HeapSample> samples_of(std::vector<ListEntry> entries) {
  std::vector<HeapSample> samples;
  for (ListEntry& entry : entries) {
    if (entry.sample) samples.push_back(std::move(*entry.sample));
  }
  return samples;
}

int watch_all(const TopOptions& options, bool on_screen) {
  const std::unique_ptr<Screen> screen(on_screen ? new Screen : nullptr);
  std::map<int, HeapSample> before;
  for (;;) {
    std::vector<ListEntry> entries = sample_all(options);
    const auto lines = draw_list(entries, terminal_width(STDOUT_FILENO));
    if (screen != nullptr) {
      screen->show(lines);
    } else if (options.json) {
      for (HeapSample& sample : samples_of(std::move(entries))) {
        const auto earlier = before.find(sample.process.pid);
        fmt::print("{}\n",
                   sample_to_json(earlier != before.end() ? &earlier->second : nullptr, sample));
        before.insert_or_assign(sample.process.pid, std::move(sample));
      }
    } else {
      for (const std::string& line : lines) fmt::print("{}\n", line);
    }
    std::fflush(stdout);
    if (options.once || std::ferror(stdout) != 0) return kExitOk;
    if (screen == nullptr) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    } else if (const char key = screen->wait(options.interval); key == 'q' || key == 'Q') {
      return kExitOk;
    }
  }
}

// ---- Prometheus ---------------------------------------------------------------------------------

ScrapeResult scrape(const TopOptions& options) {
  ScrapeResult result;
  if (options.pid == 0) {
    result.text = to_prometheus(samples_of(sample_all(options)));
    return result;
  }
  if (const auto sample = take_sample(options.pid, ask_options(options), result.error)) {
    result.text = to_prometheus({*sample});
  }
  return result;
}

int expose(const TopOptions& options) {
  if (options.pid != 0 || options.listen.empty()) {
    // An error that is there from the beginning ends the command at once.
    const ScrapeResult result = scrape(options);
    if (!result.error.empty()) {
      complain(result.error);
      return kExitNo;
    }
    if (options.listen.empty()) {
      fmt::print("{}", result.text);
      return kExitOk;
    }
  }
  complain(serve_prometheus(
      options.listen, [&] { return scrape(options); },
      [&] { return options.pid != 0 && !read_process(options.pid).has_value(); }));
  return kExitNo;
}

}  // namespace

int top(const TopOptions& options) {
  if (options.prometheus) return expose(options);
  const bool on_screen =
      !options.json && !options.once && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  if (options.pid != 0 || !options.command.empty()) return watch_one(options, on_screen);
  return watch_all(options, on_screen);
}

}  // namespace corbel::cli
