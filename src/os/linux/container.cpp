// SPDX-License-Identifier: Apache-2.0
#include "os/linux/container.hpp"

#include <string.h>
#include <sys/sysinfo.h>

#include <initializer_list>

#include "os/linux/errno_guard.hpp"
#include "os/linux/lines.hpp"

namespace corbel::os {
namespace {

// Cuts the next word off a line and returns it; "" at the end of the line.
char* take_word(char** rest) {
  char* word = *rest;
  char* end = word;
  while (*end != '\0' && *end != ' ') ++end;
  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return word;
}

bool begins_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// Whether a comma-separated list contains the word.
bool lists(const char* words, const char* word) {
  const std::size_t length = strlen(word);
  for (const char* p = words; (p = strstr(p, word)) != nullptr; p += length) {
    const bool begins = p == words || p[-1] == ',';
    if (begins && (p[length] == '\0' || p[length] == ',')) return true;
  }
  return false;
}

// mountinfo writes space, tab, newline and backslash as three octal digits.
void unescape(char* text) {
  char* to = text;
  for (const char* from = text; *from != '\0';) {
    const auto digit = [from](int i) { return from[i] >= '0' && from[i] <= '7'; };
    if (from[0] == '\\' && digit(1) && digit(2) && digit(3)) {
      *to++ = char((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 4;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
}

// The part of `path` below `folder`, with its slash; nullptr if `path` does not lie below it.
const char* below(const char* path, const char* folder) {
  if (begins_with(path, "/..")) return nullptr;  // outside our namespace
  std::size_t length = strlen(folder);
  if (length == 1) length = 0;  // "/"
  if (strncmp(path, folder, length) != 0) return nullptr;
  const char* rest = path + length;
  if (*rest != '\0' && *rest != '/') return nullptr;
  return strcmp(rest, "/") == 0 ? "" : rest;
}

bool join(char* to, std::size_t capacity, const char* a, const char* b, const char* c) {
  const std::size_t sizes[] = {strlen(a), strlen(b), strlen(c)};
  if (sizes[0] + sizes[1] + sizes[2] >= capacity) return false;
  memcpy(to, a, sizes[0]);
  memcpy(to + sizes[0], b, sizes[1]);
  memcpy(to + sizes[0] + sizes[1], c, sizes[2] + 1);
  return true;
}

// False for "max" and anything else that is not a number. A number beyond the range saturates.
bool parse(const char* text, std::uint64_t* number) {
  if (*text < '0' || *text > '9') return false;
  std::uint64_t n = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    n = n > (UINT64_MAX - 9) / 10 ? UINT64_MAX / 10 : n * 10 + std::uint64_t(*text - '0');
  }
  *number = n;
  return true;
}

std::size_t physical_memory() {
  struct sysinfo info = {};
  return sysinfo(&info) == 0 ? std::size_t(info.totalram) * info.mem_unit : 0;
}

}  // namespace

MemoryGrant ContainerReader::read() {
  ErrnoGuard guard;
  MemoryGrant grant;
  grant.physical = physical_memory();
  limit_file_[0] = stall_file_[0] = '\0';
  read_paths("memory");
  read_mounts("memory");
  read_limits(grant);
  read_stalls(grant);
  return grant;
}

template <typename Visit>
void ContainerReader::each_folder(const Hierarchy& hierarchy, Visit&& visit) {
  if (hierarchy.directory[0] == '\0') return;
  std::size_t length = strlen(hierarchy.directory);
  while (visit(length)) {
    while (length > hierarchy.mount_length && hierarchy.directory[length - 1] != '/') --length;
    if (length <= hierarchy.mount_length) return;
    --length;
  }
}

unsigned ContainerReader::read_processors() {
  ErrnoGuard guard;
  read_paths("cpu");
  read_mounts("cpu");
  std::uint64_t min = 0;
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  const auto consider = [&] {
    if (period == 0) return;
    const std::uint64_t processors = quota / period + (quota % period != 0 || quota == 0 ? 1 : 0);
    if (min == 0 || processors < min) min = processors;
  };
  each_folder(v2_, [&](std::size_t length) {
    if (!name_file(v2_.directory, length, "cpu.max")) return true;
    Lines lines(file_);
    if (!lines.next(line_, kPath)) return true;
    char* rest = line_;
    const char* first = take_word(&rest);  // "max": no quota
    if (parse(first, &quota) && parse(rest, &period)) consider();
    return true;
  });
  each_folder(v1_, [&](std::size_t length) {
    // A quota of -1 means none, and does not parse.
    if (name_file(v1_.directory, length, "cpu.cfs_quota_us") && read_number(&quota) &&
        name_file(v1_.directory, length, "cpu.cfs_period_us") && read_number(&period)) {
      consider();
    }
    return true;
  });
  return unsigned(min < UINT32_MAX ? min : UINT32_MAX);
}

// Each line has the form number:controllers:path; the number is 0 for v2.
void ContainerReader::read_paths(const char* controller) {
  v1_.path[0] = v1_.directory[0] = v2_.path[0] = v2_.directory[0] = '\0';
  if (!join(file_, kPath, process_, "/cgroup", "")) return;
  Lines lines(file_);
  while (lines.next(line_, kPath)) {
    char* controllers = strchr(line_, ':');
    if (controllers == nullptr) continue;
    *controllers++ = '\0';
    char* path = strchr(controllers, ':');
    if (path == nullptr) continue;
    *path++ = '\0';
    if (strcmp(line_, "0") == 0 && *controllers == '\0') join(v2_.path, kPath, path, "", "");
    if (lists(controllers, controller)) join(v1_.path, kPath, path, "", "");
  }
}

// proc_pid_mountinfo(5): id parent device root point options [tags ...] - type source options
void ContainerReader::read_mounts(const char* controller) {
  if (!join(file_, kPath, process_, "/mountinfo", "")) return;
  Lines lines(file_);
  while (lines.next(line_, kPath)) {
    char* tail = strstr(line_, " - cgroup");
    if (tail == nullptr) continue;
    *tail = '\0';
    tail += 3;
    const char* type = take_word(&tail);
    take_word(&tail);
    char* rest = line_;
    for (int i = 0; i < 3; ++i) take_word(&rest);
    char* mount_root = take_word(&rest);
    char* mount_point = take_word(&rest);
    unescape(mount_root);
    unescape(mount_point);
    if (strcmp(type, "cgroup2") == 0) take_mount(v2_, mount_root, mount_point);
    if (strcmp(type, "cgroup") == 0 && lists(tail, controller)) {
      take_mount(v1_, mount_root, mount_point);
    }
  }
}

void ContainerReader::take_mount(Hierarchy& hierarchy, const char* mount_root,
                                 const char* mount_point) {
  if (hierarchy.path[0] != '/' || mount_root[0] != '/') return;
  const char* rest = below(hierarchy.path, mount_root);
  // A hierarchy may be mounted several times, and a mount may show only a part of it.
  if (hierarchy.directory[0] != '\0' && (hierarchy.exact || rest == nullptr)) return;
  // If the mount does not contain our folder, use the mount point itself, which then is a folder
  // above ours. But if we are outside the namespace's tree, ignore the mount.
  if (rest == nullptr && begins_with(hierarchy.path, "/..")) return;
  if (!join(hierarchy.directory, kPath, root_, mount_point, rest != nullptr ? rest : "")) {
    hierarchy.directory[0] = '\0';
    return;
  }
  hierarchy.mount_length = strlen(root_) + strlen(mount_point);
  hierarchy.exact = rest != nullptr;
  hierarchy.complete = strcmp(mount_root, "/") == 0;
}

bool ContainerReader::name_file(const char* directory, std::size_t length, const char* name) {
  if (length + 1 + strlen(name) >= kPath) return false;
  memcpy(file_, directory, length);
  file_[length] = '/';
  memcpy(file_ + length + 1, name, strlen(name) + 1);
  return true;
}

bool ContainerReader::read_number(std::uint64_t* number) {
  Lines lines(file_);
  return lines.next(line_, kPath) && parse(line_, number);
}

// The number that follows `key` at the beginning of a line.
bool ContainerReader::read_entry(const char* key, std::uint64_t* number) {
  Lines lines(file_);
  while (lines.next(line_, kPath)) {
    char* rest = line_;
    if (strcmp(take_word(&rest), key) == 0) return parse(rest, number);
  }
  return false;
}

void ContainerReader::consider_limit(MemoryGrant& grant, std::size_t limit) {
  // A limit at or above the machine's memory has no effect; v1 expresses "none" by a huge number.
  if (limit >= grant.limit || (grant.physical != 0 && limit >= grant.physical)) return;
  grant.limit = limit;
  join(limit_file_, kPath, file_, "", "");
}

void ContainerReader::read_limits(MemoryGrant& grant) {
  std::uint64_t number = 0;
  each_folder(v2_, [&](std::size_t length) {
    for (const char* name : {"memory.max", "memory.high"}) {
      if (name_file(v2_.directory, length, name) && read_number(&number)) {
        consider_limit(grant, number);
      }
    }
    return true;
  });
  bool first = true;
  each_folder(v1_, [&](std::size_t length) {
    // In old kernels a group could be excluded from the accounting of the groups above it.
    if (!first && name_file(v1_.directory, length, "memory.use_hierarchy") &&
        read_number(&number) && number == 0) {
      return false;
    }
    first = false;
    if (name_file(v1_.directory, length, "memory.limit_in_bytes") && read_number(&number)) {
      consider_limit(grant, number);
    }
    return true;
  });
  // Groups above the mount or above our namespace are invisible, but v1 reports the limit that
  // results from them.
  const bool sees_all = v1_.exact && v1_.complete && strcmp(v1_.path, "/") != 0;
  if (v1_.directory[0] != '\0' && !sees_all &&
      name_file(v1_.directory, strlen(v1_.directory), "memory.stat") &&
      read_entry("hierarchical_memory_limit", &number)) {
    consider_limit(grant, number);
  }
}

void ContainerReader::read_stalls(MemoryGrant& grant) {
  std::uint64_t number = 0;
  const auto read_pressure = [&] {
    Lines lines(file_);
    while (lines.next(line_, kPath)) {
      // some avg10=0.00 avg60=0.00 avg300=0.00 total=0
      const char* total = strstr(line_, " total=");
      if (!begins_with(line_, "some ") || total == nullptr || !parse(total + 7, &number)) continue;
      grant.stalled_us = number;
      grant.knows_stalls = true;
      join(stall_file_, kPath, file_, "", "");
      return true;
    }
    return false;
  };
  const std::size_t length = strlen(v2_.directory);
  if (length != 0 && name_file(v2_.directory, length, "memory.pressure") && read_pressure()) {
    return;
  }
  if (join(file_, kPath, root_, "/proc/pressure/memory", "") && read_pressure()) return;
  if (length != 0) {
    for (const char* key : {"high", "max", "oom"}) {
      if (name_file(v2_.directory, length, "memory.events") && read_entry(key, &number)) {
        grant.collisions += number;
        join(stall_file_, kPath, file_, "", "");
      }
    }
  }
  if (v1_.directory[0] != '\0' &&
      name_file(v1_.directory, strlen(v1_.directory), "memory.failcnt") && read_number(&number)) {
    grant.collisions += number;
    join(stall_file_, kPath, file_, "", "");
  }
}

namespace {
constinit ContainerReader reader;
}  // namespace

MemoryGrant read_memory_grant() { return reader.read(); }

}  // namespace corbel::os
