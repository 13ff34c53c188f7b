// SPDX-License-Identifier: Apache-2.0
// The mappings of the process, and which of its pages have been touched.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "os/linux/errno_guard.hpp"
#include "os/linux/lines.hpp"
#include "os/os.hpp"

namespace corbel::os {
namespace {

std::uint64_t parse_hex(const char*& s) {
  std::uint64_t n = 0;
  for (;; ++s) {
    if (*s >= '0' && *s <= '9') {
      n = n * 16 + std::uint64_t(*s - '0');
    } else if (*s >= 'a' && *s <= 'f') {
      n = n * 16 + std::uint64_t(*s - 'a' + 10);
    } else {
      return n;
    }
  }
}

bool starts_with(const char* s, const char* prefix) {
  return strncmp(s, prefix, strlen(prefix)) == 0;
}

MemoryArea::Kind kind_of(bool is_private, const char* name) {
  for (const char* special : {"[vvar", "[vdso", "[vsyscall", "[uprobes"}) {
    if (starts_with(name, special)) return MemoryArea::Kind::kDevice;
  }
  // A private mapping of /dev/zero is memory; other devices have memory of their own.
  const bool is_memory = name[0] == '\0' || name[0] == '[' || starts_with(name, "/dev/zero") ||
                         starts_with(name, "/dev/shm/") || starts_with(name, "/memfd:") ||
                         starts_with(name, "/SYSV");
  if (!is_memory && (starts_with(name, "/dev/") || name[0] != '/'))
    return MemoryArea::Kind::kDevice;
  if (is_private) return MemoryArea::Kind::kPrivate;
  return is_memory ? MemoryArea::Kind::kSharedMemory : MemoryArea::Kind::kSharedFile;
}

// "start-end rwxp offset major:minor inode   name"
bool parse(const char* s, MemoryArea* mapping) {
  mapping->start = parse_hex(s);
  if (*s++ != '-') return false;
  mapping->end = parse_hex(s);
  if (*s++ != ' ' || strnlen(s, 5) < 5) return false;
  mapping->readable = s[0] == 'r';
  mapping->writable = s[1] == 'w';
  const bool is_private = s[3] == 'p';
  s += 5;
  mapping->offset = parse_hex(s);
  for (int field = 0; field < 2; ++field) {
    while (*s == ' ') ++s;
    while (*s != ' ' && *s != '\0') ++s;
  }
  while (*s == ' ') ++s;
  mapping->name = s;
  mapping->kind = kind_of(is_private, s);
  mapping->has_file = *s == '/';
  mapping->is_stack = starts_with(s, "[stack");
  return true;
}

// Struct pm_scan_arg of the kernel's linux/fs.h.
struct PageScan {
  std::uint64_t size = sizeof(PageScan);
  std::uint64_t flags = 0;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t walk_end = 0;
  std::uint64_t regions;
  std::uint64_t region_count;
  std::uint64_t max_pages = 0;
  std::uint64_t category_inverted = 0;
  std::uint64_t category_mask = 0;
  std::uint64_t category_anyof_mask;
  std::uint64_t return_mask = 0;
};
struct PageRegion {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t categories;
};

// Visits the pages with content that the kernel finds (PAGEMAP_SCAN, since Linux 6.7). It skips
// absent page tables: a sanitizer's shadow memory has terabytes without a page. Returns the address
// up to which it has looked.
std::uintptr_t visit_found_pages(int file, std::uintptr_t start, std::uintptr_t end,
                                 void (*visit)(void*, std::uintptr_t, std::uintptr_t),
                                 void* context) {
  constexpr std::uint64_t kPresent = 1 << 3, kSwapped = 1 << 4;
  PageRegion regions[128];
  // With more, the kernel fills its own buffer twice in a call, and tells where the first one
  // ended.
  static_assert(std::size(regions) <= 512);
  PageScan scan{};
  scan.end = end;
  scan.regions = reinterpret_cast<std::uintptr_t>(regions);
  scan.region_count = std::size(regions);
  scan.category_anyof_mask = kPresent | kSwapped;
  std::uintptr_t here = start;
  while (here < end) {
    scan.start = here;
    const long found = syscall(SYS_ioctl, file, _IOWR('f', 16, PageScan), &scan);
    if (found < 0 || scan.walk_end <= here) break;
    for (long i = 0; i < found; ++i) visit(context, regions[i].start, regions[i].end);
    here = std::uintptr_t(scan.walk_end);
  }
  return here;
}

// The same for older kernels: a word for each page, with content or not
// (Documentation/admin-guide/mm/pagemap.rst of the kernel). Returns where the part begins that it
// has not visited: the last run, or all that it could not read.
std::uintptr_t visit_listed_pages(int file, std::uintptr_t start, std::uintptr_t end,
                                  void (*visit)(void*, std::uintptr_t, std::uintptr_t),
                                  void* context) {
  constexpr std::uint64_t kHasContent = 3ULL << 62;  // resident, swapped out
  std::uint64_t pages[512];
  const std::uintptr_t page = page_size();
  std::uintptr_t run = start;  // the pages with content up to here begin at `run`
  std::uintptr_t here = start;
  while (here < end) {
    const std::size_t count = std::min<std::size_t>(std::size(pages), (end - here) / page);
    const long got =
        syscall(SYS_pread64, file, pages, count * sizeof(pages[0]), here / page * sizeof(pages[0]));
    if (got <= 0) break;
    for (std::size_t i = 0; i < std::size_t(got) / sizeof(pages[0]); ++i, here += page) {
      if ((pages[i] & kHasContent) != 0) continue;
      if (run < here) visit(context, run, here);
      run = here + page;
    }
  }
  return run;
}

}  // namespace

bool for_each_memory_area(void (*visit)(void*, const MemoryArea&), void* context) {
  ErrnoGuard guard;
  Lines maps("/proc/self/maps");
  char line[4096 + 128];  // the longest path that the system shows, after the other fields
  bool any = false;
  while (maps.next(line, sizeof line)) {
    MemoryArea mapping;
    if (!parse(line, &mapping)) continue;
    any = true;
    visit(context, mapping);
  }
  return any;
}

void for_each_touched(std::uintptr_t start, std::uintptr_t end,
                      void (*visit)(void*, std::uintptr_t, std::uintptr_t), void* context) {
  ErrnoGuard guard;
  const int file = int(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::uintptr_t here = start;
  if (file >= 0) {
    here = visit_found_pages(file, here, end, visit, context);
    here = visit_listed_pages(file, here, end, visit, context);
    syscall(SYS_close, file);
  }
  if (here < end) visit(context, here, end);
}

}  // namespace corbel::os
