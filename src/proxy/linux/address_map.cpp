// SPDX-License-Identifier: Apache-2.0
// Reads /proc/self/maps with system calls alone, because it is needed when the heap may be corrupt.
#include "proxy/linux/address_map.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Weak: a static executable has no dynamic linker to ask.
#pragma weak dladdr

extern "C" {
extern const char __executable_start[] __attribute__((weak, visibility("hidden")));
extern const char _end[] __attribute__((weak, visibility("hidden")));
}

namespace corbel::proxy {
namespace {

// Reads the file line by line. A line longer than the buffer loses its tail.
class MapsReader {
 public:
  MapsReader()
      : fd_(static_cast<int>(
            syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0))) {}
  ~MapsReader() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;

  bool is_open() const { return fd_ >= 0; }

  // False at the end of the file.
  bool next_line(char (&line)[512]) {
    std::size_t length = 0;
    for (;;) {
      if (position_ == filled_ && !fill()) break;
      const char c = buffer_[position_++];
      if (c == '\n') {
        line[length] = '\0';
        return true;
      }
      if (length + 1 < sizeof(line)) line[length++] = c;
    }
    line[length] = '\0';
    return length != 0;
  }

 private:
  bool fill() {
    const long n = syscall(SYS_read, fd_, buffer_, sizeof(buffer_));
    position_ = 0;
    filled_ = n > 0 ? static_cast<std::size_t>(n) : 0;
    return n > 0;
  }

  int fd_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  char buffer_[2048];
};

std::uintptr_t parse_hex(const char*& s) {
  std::uintptr_t n = 0;
  for (;; ++s) {
    if (*s >= '0' && *s <= '9') {
      n = n * 16 + std::uintptr_t(*s - '0');
    } else if (*s >= 'a' && *s <= 'f') {
      n = n * 16 + std::uintptr_t(*s - 'a' + 10);
    } else {
      return n;
    }
  }
}

bool starts_with(const char* s, const char* prefix) {
  while (*prefix != '\0') {
    if (*s++ != *prefix++) return false;
  }
  return true;
}

void copy_name(Mapping& mapping, const char* name) {
  std::size_t i = 0;
  for (; name[i] != '\0' && i + 1 < sizeof(mapping.name); ++i) mapping.name[i] = name[i];
  mapping.name[i] = '\0';
}

// "start-end rwxp offset major:minor inode   name"
bool parse_line(const char* s, std::uintptr_t address, Mapping& mapping) {
  mapping.start = parse_hex(s);
  if (*s++ != '-') return false;
  mapping.end = parse_hex(s);
  if (address < mapping.start || address >= mapping.end || *s++ != ' ') return false;
  const bool readable = s[0] == 'r';
  const bool shared = s[3] == 's';
  mapping.writable = s[1] == 'w';
  s += 4;
  for (int field = 0; field < 3; ++field) {
    while (*s == ' ') ++s;
    while (*s != ' ' && *s != '\0') ++s;
  }
  while (*s == ' ') ++s;

  if (!readable) {
    mapping.place = Place::kUnmapped;
  } else if (*s == '\0' || starts_with(s, "[anon")) {
    mapping.place = shared ? Place::kShared : Place::kAnonymous;
  } else if (starts_with(s, "[heap]")) {
    mapping.place = Place::kBreak;
  } else if (starts_with(s, "[stack")) {
    mapping.place = Place::kStack;
  } else {
    mapping.place = shared ? Place::kShared : Place::kFile;
    copy_name(mapping, s);
  }
  return true;
}

// Reclassifies an address that lies in the program or a library. The kernel reports the zeroed data
// of an image as anonymous, so the dynamic linker is asked. A mapped file need not be an image.
void find_image(const void* address, Mapping& mapping) {
  if (mapping.place == Place::kUnmapped) return;
  Dl_info info;
  if (dladdr != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr) {
    mapping.place = Place::kImage;
    copy_name(mapping, info.dli_fname[0] != '\0' ? info.dli_fname : "the program");
    return;
  }
  if (__executable_start != nullptr && address >= __executable_start && address < _end) {
    mapping.place = Place::kImage;
    if (mapping.name[0] == '\0') copy_name(mapping, "the program");
  }
}

// Reclassifies an address on the calling thread's stack, which the kernel reports as anonymous. The
// stack ends where the thread block begins.
void find_stack(const void* address, Mapping& mapping) {
  if (mapping.place != Place::kAnonymous) return;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto top = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const auto p = reinterpret_cast<std::uintptr_t>(address);
  if (here < top && here >= mapping.start && top < mapping.end && p >= here && p < top) {
    mapping.place = Place::kStack;
  }
}

}  // namespace

Mapping find_mapping(const void* address) noexcept {
  const int saved = errno;
  Mapping mapping;
  MapsReader maps;
  if (maps.is_open()) {
    char line[512];
    bool found = false;
    while (!found && maps.next_line(line)) {
      found = parse_line(line, reinterpret_cast<std::uintptr_t>(address), mapping);
    }
    if (!found) mapping.place = Place::kUnmapped;
  } else {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t(4095);
    unsigned char resident[16];  // more than enough: a page has at least 4 KiB
    if (syscall(SYS_mincore, page, 1UL, resident) != 0 && errno == ENOMEM) {
      mapping.place = Place::kUnmapped;
    }
  }
  find_image(address, mapping);
  find_stack(address, mapping);
  errno = saved;
  return mapping;
}

}  // namespace corbel::proxy
