// SPDX-License-Identifier: Apache-2.0
// `corbel profile heap --pid`: samples a running process for a while.
#include <fmt/core.h>
#include <signal.h>
#include <time.h>

#include <chrono>
#include <stdexcept>

#include "pprof/profile_file.hpp"
#include "process/control.hpp"
#include "profile/output.hpp"
#include "profile/profile_command.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

using Clock = std::chrono::steady_clock;

// While this lives, the signals that would end this process only end a wait(): the other process
// must not be left sampling. One that is ignored, as nohup has it, stays so.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now{};
      sigaction(signal, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&set_, signal);
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~EndSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Waits for at most `milliseconds`. Returns whether a signal came.
  bool wait(long milliseconds) {
    const timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000};
    return sigtimedwait(&set_, nullptr, &time) > 0;
  }

 private:
  sigset_t set_, before_;
};

// The heap profile of another process, which is off again afterwards if it was off before.
class RemoteProfile {
 public:
  explicit RemoteProfile(const HeapOptions& options) : pid_(options.pid) {
    ask_options_.into_sandbox = options.into_sandbox;
    const std::string before = ask_for("start");
    was_on_ = before == "on";
    is_to_be_stopped_ = !was_on_;
    has_older_ = before == "again";
    if (!options.every.empty() && !was_on_) {
      try {
        ask_for("start every=" + options.every);
      } catch (const std::runtime_error&) {
        stop();
        throw;
      }
    }
  }
  ~RemoteProfile() {
    if (!stop()) complain(fmt::format("process {} goes on sampling", pid_));
  }
  RemoteProfile(const RemoteProfile&) = delete;
  RemoteProfile& operator=(const RemoteProfile&) = delete;

  bool was_on() const { return was_on_; }
  // Whether the profile has what was sampled once before.
  bool has_older() const { return has_older_; }

  std::string take() {
    try {
      return ask_for("write");
    } catch (const std::runtime_error& error) {
      if (was_on_ || stop()) throw;
      throw std::runtime_error(fmt::format("{}; it goes on sampling", error.what()));
    }
  }

 private:
  std::string ask_for(const std::string& words) {
    Answer answer = ask(pid_, "profile heap " + words, ask_options_);
    if (!answer.is_complete()) throw std::runtime_error(answer.error);
    return std::move(answer.content);
  }

  // Returns whether the process samples no more.
  bool stop() {
    if (!is_to_be_stopped_) return true;
    is_to_be_stopped_ = false;
    if (ask(pid_, "profile heap stop", ask_options_).is_complete()) return true;
    const auto process = read_process(pid_);
    return !process || process->is_over();
  }

  int pid_;
  AskOptions ask_options_;
  bool was_on_ = false, has_older_ = false, is_to_be_stopped_ = false;
};

// Waits for the time, for a signal, or for the end of the process.
void wait_for_samples(const HeapOptions& options, EndSignals& signals) {
  constexpr std::chrono::milliseconds kLook{100};
  const auto end = Clock::now() + std::chrono::duration<double>(options.duration);
  for (;;) {
    auto step = kLook;
    if (options.duration != 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return;
      step = std::min(step, left);
    }
    if (signals.wait(step.count())) return;
    const auto process = read_process(options.pid);
    if (!process || process->is_over()) {
      throw std::runtime_error(fmt::format(
          "process {} ended before its profile was taken: {}", options.pid,
          options.duration != 0 ? "choose a shorter --duration"
                                : "start it with 'corbel profile heap -- CMD' instead"));
    }
  }
}

std::string take_profile(const HeapOptions& options) {
  EndSignals signals;
  RemoteProfile profile(options);
  if (profile.was_on()) {
    if (!options.every.empty()) {
      complain(
          fmt::format("process {} is being profiled already: --every is ignored", options.pid));
    }
    if (options.duration == 0) return profile.take();
  } else if (options.duration == 0) {
    complain(fmt::format("sampling process {}: press Ctrl-C to end it and get the profile",
                         options.pid));
  }
  const auto begin = Clock::now();
  wait_for_samples(options, signals);
  std::string content = profile.take();
  if (!profile.was_on()) {
    complain(fmt::format(
        "the profile has the blocks that process {} allocated while it was sampled: {:.1f} s{}",
        options.pid, std::chrono::duration<double>(Clock::now() - begin).count(),
        profile.has_older() ? ", and once before" : ""));
  }
  return content;
}

}  // namespace

int profile_heap_of_process(const HeapOptions& options) {
  try {
    const auto process = read_process(options.pid);
    const std::string name = process ? process->command : std::to_string(options.pid);
    const ProfileOutput output =
        choose_output(name, "heap", options.output, options.page, options.no_page);
    check_output(output);
    std::vector<Profile> parts;
    parts.push_back(
        parse_profile(take_profile(options), fmt::format("the answer of process {}", options.pid)));
    report_heap(name_profiles(std::move(parts)), output,
                fmt::format("{} (process {})", name, options.pid));
    return kExitOk;
  } catch (const std::runtime_error& error) {
    complain(printable(error.what()));
    return kExitOwnFailure;
  }
}

}  // namespace corbel::cli
