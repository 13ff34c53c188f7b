// SPDX-License-Identifier: Apache-2.0
// Where a program's threads spend time on memory: a profile of CORBEL_PROFILE=time, evaluated.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pprof/profile.hpp"

namespace corbel::cli {

// What time is spent on. The order is that of the output.
enum class Kind {
  kAllocation,
  kFree,
  kRealloc,
  kReallocCopy,
  kGrowth,  // a container of the C++ library moves into a larger block
  kPageFault,
  kAllocatorLock,
  kLock,     // of the program
  kSharing,  // two threads use one cache line; part of the time of kOther
  kOther,    // the program's own work
  kWait,     // for something else than a lock
  kStart,    // the loader
};
inline constexpr std::size_t kKinds = 12;

// "realloc copy": the label `kind` of samples in the profile.
std::string_view name_of(Kind kind);
// Whether time of this kind counts as memory management.
bool is_memory(Kind kind);

// What a profile of a program's time measures, in the order of the values.
enum TimeType {
  kCpu,
  kWaited,
  kFaults,
  kShared,
  kAllocations,
  kAllocated,
  kBrief,
  kHandedOver,
  kReceived,
  kGrowths,
  kCopied,
  kTimeTypes
};

// Whether the profile is one of a program's time.
bool is_time_profile(const Profile& profile);

// A frame of a stack.
struct Place {
  std::string function, file, module;
  std::int64_t line = 0;
  bool inlined = false;  // into the next one
};

// "function file:line"; a function without a file has its module's name.
std::string text_of(const Place& place);

// What was counted at a place, in all threads.
struct Counts {
  std::int64_t allocations = 0, bytes = 0, brief = 0, handed_over = 0, received = 0, growths = 0,
               copied = 0;
  std::map<std::string, std::int64_t> receivers;  // threads that free blocks of others
};

struct Stack {
  std::int64_t cost = 0;
  std::vector<Place> places;  // innermost first
};

// How one thread uses a cache line at one place.
struct Access {
  Place place;
  std::string thread;
  std::int64_t samples = 0, writes = 0, first = 0, last = 0;  // bytes of the line
  std::int64_t block = 0;                                     // size; 0: not of the heap
};

struct Spot {
  Kind kind = Kind::kOther;
  Place place;
  std::string container;                 // what grows there
  std::string task;                      // the parallel call that most of it is in
  std::int64_t cost = 0;                 // nanoseconds
  std::int64_t count = 0;                // page faults, or samples of accesses
  std::int64_t merging = 0, system = 0;  // of `cost`: what the allocator does, as SlowWork has it
  Counts counts;
  std::map<std::string, std::int64_t> threads;  // nanoseconds of each
  std::vector<Stack> stacks;                    // most time first; only the first few
  std::size_t more_stacks = 0;                  // how many others there are
  std::vector<Access> accesses;                 // kSharing: most samples first
  std::size_t lines = 0;                        // kSharing: how many cache lines
};

// A place and what was counted there.
struct Site {
  Place place;
  std::string container;
  Counts counts;
};

// The time of a thread: on a processor, or waiting for a lock.
struct ThreadTime {
  std::string name;
  std::array<std::int64_t, kKinds> by_kind{};

  std::int64_t of(Kind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  std::int64_t total() const;
  std::int64_t memory() const;
};

struct HotSpots {
  bool system_malloc = false;
  std::string timer;
  std::int64_t period = 0, duration = 0, fault_cost = 0;  // nanoseconds
  std::int64_t cpu = 0;                                   // nanoseconds on a processor
  ThreadTime all;
  std::int64_t merging = 0, system = 0;  // of that time: what the allocator does (see Spot)
  std::vector<ThreadTime> threads;       // most time first
  std::vector<Spot> spots;               // most time first
  std::vector<Site> sites;               // with any count
  std::vector<std::string> gaps;         // what the profile does not have, one sentence each
};

// Gives each sample the label "kind", and splits samples with values of several kinds. Needs names.
void label_kinds(Profile& profile);

// `profile` may have the labels, or not.
HotSpots find_hot_spots(const Profile& profile);

}  // namespace corbel::cli
