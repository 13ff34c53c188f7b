// SPDX-License-Identifier: Apache-2.0
// Reads what the memory and processor controllers of cgroups grant a process. It reads v1 and v2,
// because both may be mounted at once. It reads every group up to the root, because the lowest
// limit on that path applies. It works inside and outside cgroup namespaces, and in containers that
// see only part of the hierarchy.
//
// The corbel command uses this class too, so that it agrees with the library. The tests run it on
// file trees of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::os {

class ContainerReader {
 public:
  // `process` is the folder of the process in /proc; `root` is prepended to every mount point.
  explicit constexpr ContainerReader(const char* process = "/proc/self", const char* root = "")
      : process_(process), root_(root) {}

  // Reads the memory controllers. Calls no malloc and needs little stack: the buffers are members.
  // A file that is missing or does not parse imposes no limit.
  MemoryGrant read();

  // The lowest quota of processor time, in processors, rounded up; 0: there is none. Calls no
  // malloc either.
  unsigned read_processors();

  // The files that `limit` and `stalled_us` of the last grant came from; "" where there was none.
  const char* limit_file() const { return limit_file_; }
  const char* stall_file() const { return stall_file_; }

 private:
  // A longer path or line counts as missing. A cgroup's name has at most 255 characters.
  static constexpr std::size_t kPath = 2048;

  // The folder of the process in one hierarchy.
  struct Hierarchy {
    char path[kPath];          // from /proc/self/cgroup; "": the process is not in this hierarchy
    char directory[kPath];     // the mount point and the path below it; "": not mounted
    std::size_t mount_length;  // of the mount point in `directory`
    bool exact;                // `directory` is the folder of the path, not one above it
    bool complete;             // the mount begins at the root of the hierarchy
  };

  void read_paths(const char* controller);
  void read_mounts(const char* controller);
  void take_mount(Hierarchy& hierarchy, const char* mount_root, const char* mount_point);
  // Calls visit(length of the folder's path) for the folder of the process and each one above it,
  // until it returns false.
  template <typename Visit>
  static void each_folder(const Hierarchy& hierarchy, Visit&& visit);
  void read_limits(MemoryGrant& grant);
  void read_stalls(MemoryGrant& grant);
  void consider_limit(MemoryGrant& grant, std::size_t limit);

  // Writes `directory/name` to file_. False if it does not fit.
  bool name_file(const char* directory, std::size_t length, const char* name);
  bool read_number(std::uint64_t* number);
  bool read_entry(const char* key, std::uint64_t* number);

  const char* process_;
  const char* root_;
  Hierarchy v1_{};
  Hierarchy v2_{};
  char line_[kPath]{};
  char file_[kPath]{};
  char limit_file_[kPath]{};
  char stall_file_[kPath]{};
};

}  // namespace corbel::os
