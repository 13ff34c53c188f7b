// SPDX-License-Identifier: Apache-2.0
// Reads what the memory and processor controllers of cgroup v1 and v2 grant a process. Both
// versions, as they may be mounted at once; the whole way up to the root, as the smallest limit on
// it counts; inside and outside of cgroup namespaces and of containers that see a part of the
// hierarchy alone.
//
// Besides the library the corbel command uses it, so that the two agree, and the tests, on trees of
// files of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.hpp"

namespace corbel::os {

class ContainerReader {
 public:
  // `process` is the folder of the process, `root` stands before every path of a mount point.
  explicit constexpr ContainerReader(const char* process = "/proc/self", const char* root = "")
      : process_(process), root_(root) {}

  // Calls no malloc and needs little stack: the buffers are here. Files that are missing or that
  // say nothing sensible say that there is no limit.
  MemoryGrant read();

  // How many processors the quotas of processor time amount to, rounded up; 0: there is none. The
  // same is true of it.
  unsigned read_processors();

  // The files that `limit` and `stalled_us` of the last grant came from; "" where there was none.
  const char* limit_file() const { return limit_file_; }
  const char* stall_file() const { return stall_file_; }

 private:
  // Longer paths and lines are as good as missing. A cgroup's name has at most 255 characters.
  static constexpr std::size_t kPath = 2048;

  // The folder of the process in a hierarchy, and how much of it is the mount point.
  struct Hierarchy {
    char path[kPath];       // of the process, as /proc/self/cgroup has it; "": not in this one
    char directory[kPath];  // "": not mounted
    std::size_t mount_length;
    bool exact;     // the folder is the one of the path, not merely one above it
    bool complete;  // the mount begins at the root of the hierarchy
  };

  void read_paths(const char* controller);
  void read_mounts(const char* controller);
  void take_mount(Hierarchy& hierarchy, const char* mount_root, const char* mount_point);
  // Calls visit(length of the folder's name) for the folder of the process and those above, until
  // it returns false.
  template <typename Visit>
  static void each_folder(const Hierarchy& hierarchy, Visit&& visit);
  void read_limits(MemoryGrant& grant);
  void read_stalls(MemoryGrant& grant);
  void consider_limit(MemoryGrant& grant, std::size_t limit);

  // Leaves `directory/name` in file_.
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
