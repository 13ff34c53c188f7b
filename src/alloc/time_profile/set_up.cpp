// SPDX-License-Identifier: Apache-2.0
// The time profile of CORBEL_PROFILE=time, from the beginning of the process to its end.
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/profile/lifetimes.hpp"
#include "alloc/profile/profile_file.hpp"
#include "alloc/time_profile/profiler.hpp"
#include "alloc/time_profile/samples.hpp"
#include "alloc/time_profile/time_file.hpp"
#include "alloc/time_profile/time_setting.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constinit ProfileFile time_file_at_exit;
constinit TimeProfileFacts time_facts{};

int write_time_file(const char* path) { return write_time_profile_to(path, time_facts); }

// What the profiler's thread cannot say, because it has not the program's files.
void say_what_is_missing() {
  const ProfilerFacts facts = profiler_facts();
  Text<512> line;
  if (facts.signal_was_taken) {
    line.add("corbel: the program has replaced the handler of ").add(os::name_of_samples());
    line.add(", the signal of the samples: its time after that is not profiled; ");
    line.add(os::samples_use_urgent_signal()
                 ? "to have SIGPROF used instead, start it with SIGURG ignored (trap '' URG)\n"
                 : "turn off another profiler, which may use SIGPROF\n");
  }
  if (facts.threads_are_hidden) {
    line.add("corbel: the time profile ").add(facts.threads == 0 ? "is empty" : "has gaps");
    line.add(": threads cannot be found without /proc; mount it where the program runs\n");
  }
  if (line.size() != 0) os::write_error(line.data(), line.size());
}

__attribute__((destructor)) void write_time_profile_at_exit() {
  // The child of a fork is not profiled: it has neither the profiler's thread nor any timer.
  if (!time_file_at_exit.is_chosen() || !time_file_at_exit.is_of_this_process()) return;
  stop_profiler();
  say_what_is_missing();
  time_file_at_exit.write("time profile", write_time_file);
}

void say_time_off(const char* why) {
  Text<512> line;
  line.add("corbel: the time is not profiled: ").add(why).add("\n");
  os::write_error(line.data(), line.size());
}

bool begin_clock(const TimeSetting& setting) {
  using Timer = TimeSetting::Timer;
  if (setting.timer != Timer::kCpu) {
    const os::SampleStart started =
        os::start_samples(os::SampleClock::kPerf, setting.every, handle_sample);
    if (started == os::SampleStart::kDone) return true;
    if (setting.timer == Timer::kPerf) {
      say_time_off(started == os::SampleStart::kTaken
                       ? "SIGURG is not at its default; set timer=cpu, which can use SIGPROF"
                       : "the system refuses performance counters; set timer=cpu, or "
                         "kernel.perf_event_paranoid to 1 or less");
      return false;
    }
  }
  switch (os::start_samples(os::SampleClock::kCpu, setting.every, handle_sample)) {
    case os::SampleStart::kDone:
      return true;
    case os::SampleStart::kTaken:
      say_time_off(
          "neither SIGURG nor SIGPROF is at its default; turn off another profiler, which may use "
          "SIGPROF");
      return false;
    default:
      say_time_off("the system has no clock for the time of a thread");
      return false;
  }
}

void begin_time_profile(const TimeSetting& setting) {
  if (!begin_clock(setting)) return;
  time_facts.every = setting.every;
  time_facts.started_at = os::wall_ns();
  begin_samples(setting.every);
  if (!start_profiler(setting.every)) return say_time_off("the system has no thread for it");
  time_file_at_exit.choose(setting.file);
  // Has no effect in a program that keeps the system's malloc.
  start_lifetimes(kLifetimeDistance);
}

}  // namespace

void end_time_profile() {
  if (time_file_at_exit.is_chosen() && time_file_at_exit.is_of_this_process()) {
    end_profiler_with_main();
  }
}

void set_up_time_profile() {
  const char* const text = os::environment("CORBEL_PROFILE");
  if (text == nullptr || !is_time_setting(text)) return;
  TimeSetting setting;
  if (parse_time_setting(text, &setting)) return begin_time_profile(setting);
  Text<512> line;
  line.add("corbel: CORBEL_PROFILE=").add(text).add(" is ignored: set it to ").add(kTimeForms);
  line.add("\n");
  os::write_error(line.data(), line.size());
}

}  // namespace corbel::alloc
