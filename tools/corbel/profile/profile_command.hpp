// SPDX-License-Identifier: Apache-2.0
// `corbel profile`: profiles of a program's heap and of its time, made, shown and compared.
#pragma once

#include <string>
#include <vector>

#include "pprof/profile.hpp"
#include "profile/output.hpp"
#include "run/run.hpp"

namespace corbel::cli {

struct HeapOptions {
  RunOptions run;
  std::string every;   // bytes between samples, as CORBEL_PROFILE has it; empty: its default
  std::string output;  // the profile; empty: named after the program
  std::string page;    // the page; empty: beside the profile
  bool no_page = false;
  int pid = 0;          // the running process that is profiled instead of a command; 0: none
  double duration = 0;  // how many seconds it is sampled; 0: until a signal asks for the end
  bool into_sandbox = false;
};

struct TimeOptions {
  RunOptions run;
  std::string every;   // time between samples, as CORBEL_PROFILE has it; empty: its default
  std::string timer;   // what times the samples, as CORBEL_PROFILE has it; empty: its default
  std::string output;  // the profile; empty: named after the program
  std::string page;    // the page; empty: beside the profile
  std::string json;    // the page's data; empty: none
  bool no_page = false;
};

struct ShowOptions {
  std::vector<std::string> files;
  std::string output;  // the profile with its names; empty: none
  std::string page;
  std::string json;  // of a profile of time
  int count = 30;    // lines of the table
};

struct DiffOptions {
  std::string before, after;
  std::string page;
  int count = 30;
};

// Each returns the exit code. profile_heap and profile_time end by the command's signal if that
// ended by one.
int profile_heap(const HeapOptions& options);
int profile_time(const TimeOptions& options);
int profile_heap_of_process(const HeapOptions& options);
int profile_show(const ShowOptions& options);
int profile_diff(const DiffOptions& options);

// Reads files, names their functions and tasks, and makes one profile of all; one of time gets the
// label "kind". Prints what names lack. Throws std::runtime_error with one line when a file is not
// a profile.
Profile load_profiles(const std::vector<std::string>& files);
// The same for profiles that have been read.
Profile name_profiles(std::vector<Profile> parts);

// Writes a heap profile and its page, and prints the places that hold most. Throws
// std::runtime_error with one line when the profile has not been written.
void report_heap(const Profile& profile, const ProfileOutput& output, const std::string& title);

}  // namespace corbel::cli
