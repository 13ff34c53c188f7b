// SPDX-License-Identifier: Apache-2.0
// What /proc shows of the process's threads (sampling.hpp). System calls by number, because the C
// library's functions are cancellation points, and the program may interpose them.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/linux/errno_guard.hpp"
#include "os/linux/thread_list.hpp"
#include "os/linux/unshare_files.hpp"
#include "os/os.hpp"
#include "os/sampling.hpp"

namespace corbel::os {
namespace {

constinit bool files_are_own = false;  // of the profiler's thread

int open_read(const char* path, int more = 0) {
  return int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | more));
}

// Reads a file of /proc about a thread, zero-terminated. Returns how much there is; 0: nothing, and
// errno may say why.
std::size_t read_about(std::uint32_t thread, const char* what, char* text, std::size_t capacity) {
  text[0] = '\0';
  Text<64> path;
  path.add("/proc/self/task/").add_decimal(thread).add("/").add(what);
  const int file = open_read(path.c_str());
  if (file < 0) return 0;
  const long size = syscall(SYS_read, file, text, capacity - 1);
  const int error = errno;
  syscall(SYS_close, file);
  errno = error;
  if (size <= 0) return 0;
  text[size] = '\0';
  return std::size_t(size);
}

// Reads a number, decimal or after 0x, and the character after it. False if there is none.
bool take_number(const char** text, std::uint64_t* value) {
  const char* p = *text;
  const bool is_hex = p[0] == '0' && p[1] == 'x';
  if (is_hex) p += 2;
  const char* const first = p;
  for (*value = 0;; ++p) {
    if (*p >= '0' && *p <= '9') {
      *value = *value * (is_hex ? 16 : 10) + std::uint64_t(*p - '0');
    } else if (is_hex && *p >= 'a' && *p <= 'f') {
      *value = *value * 16 + std::uint64_t(*p - 'a') + 10;
    } else {
      break;
    }
  }
  if (p == first) return false;
  *text = *p == '\0' ? p : p + 1;
  return true;
}

constexpr std::size_t kStatSize = 512;

// Reads the thread's file "stat". Returns where its state is, nullptr if there is no such thread.
const char* read_state(std::uint32_t thread, char (&text)[kStatSize]) {
  read_about(thread, "stat", text, sizeof text);
  // It comes after the name, which may have any characters.
  const char* const name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end + 2 : nullptr;
}

struct Identity {
  std::uint64_t real, effective, saved;
};

// Reads the line of /proc/self/status.
bool read_identity(const char* status, const char* name, Identity* identity) {
  const char* p = strstr(status, name);
  if (p == nullptr) return false;
  p += strlen(name);
  return take_number(&p, &identity->real) && take_number(&p, &identity->effective) &&
         take_number(&p, &identity->saved);
}

}  // namespace

void follow_user() {
  ErrnoGuard guard;
  char status[4096];
  Identity user, group;
  if (read_about(std::uint32_t(getpid()), "status", status, sizeof status) == 0 ||
      !read_identity(status, "\nUid:\t", &user) || !read_identity(status, "\nGid:\t", &group)) {
    return;
  }
  uid_t real, effective, saved;
  if (syscall(SYS_getresuid, &real, &effective, &saved) != 0) return;
  if (user.real == real && user.effective == effective && user.saved == saved) return;
  syscall(SYS_setgroups, 0, nullptr);
  syscall(SYS_setresgid, group.real, group.effective, group.saved);
  syscall(SYS_setresuid, user.real, user.effective, user.saved);
}

void use_own_files() {
  ErrnoGuard guard;
  files_are_own = unshare_files();
}

bool has_own_files() { return files_are_own; }

unsigned for_each_thread(void (*visit)(void* context, std::uint32_t thread), void* context) {
  ErrnoGuard guard;
  const int folder = open_read("/proc/self/task", O_DIRECTORY);
  if (folder < 0) return 0;
  struct Entry {  // the kernel's linux_dirent64
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t size;
    std::uint8_t type;
    char name[1];
  };
  unsigned count = 0;
  alignas(Entry) char buffer[4096];
  for (;;) {
    const long size = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->size;
      const char* name = entry->name;
      std::uint64_t thread;
      if (!take_number(&name, &thread)) continue;  // "." and ".."
      ++count;
      visit(context, std::uint32_t(thread));
    }
  }
  syscall(SYS_close, folder);
  return count;
}

bool blocks_signal(std::uint32_t thread, int signal) {
  char text[4096];
  ErrnoGuard guard;
  read_about(thread, "status", text, sizeof text);
  const char* const line = strstr(text, "\nSigBlk:\t");
  if (line == nullptr) return false;
  std::uint64_t blocked = 0;
  for (const char* p = line + 9; *p != '\n' && *p != '\0'; ++p) {
    blocked = blocked << 4 | std::uint64_t(*p <= '9' ? *p - '0' : *p - 'a' + 10);
  }
  return (blocked >> (signal - 1) & 1) != 0;
}

bool has_ended(std::uint32_t thread) {
  ErrnoGuard guard;
  char text[kStatSize];
  const char* const state = read_state(thread, text);
  return state != nullptr && (*state == 'Z' || *state == 'X');
}

bool find_faults(std::uint32_t thread, std::uint64_t* faults) {
  ErrnoGuard guard;
  char text[kStatSize];
  const char* p = read_state(thread, text);
  if (p == nullptr) return false;
  // The state is the third field; the tenth has the faults without input, the twelfth the others.
  std::uint64_t number[13] = {};
  unsigned field = 3;
  for (; *p != '\0' && field < 12; ++p) {
    if (*p != ' ') continue;
    const char* next = p + 1;
    ++field;
    take_number(&next, &number[field]);  // some are negative
  }
  if (field < 12) return false;
  *faults = number[10] + number[12];
  return true;
}

WaitLook find_wait(std::uint32_t thread, ThreadWait* wait) {
  ErrnoGuard guard;
  char text[256];
  errno = 0;
  if (read_about(thread, "syscall", text, sizeof text) == 0) {
    return errno == EACCES || errno == EPERM ? WaitLook::kRefused : WaitLook::kOther;
  }
  // The number of the call, its six arguments, the stack pointer, and the pc.
  const char* p = text;
  std::uint64_t words[8];
  for (std::uint64_t& word : words) {
    if (!take_number(&p, &word)) return WaitLook::kOther;
  }
  if (words[0] != SYS_futex || words[4] != 0) return WaitLook::kOther;
  const auto command = unsigned(words[2]) & unsigned(FUTEX_CMD_MASK);
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET && command != FUTEX_LOCK_PI) {
    return WaitLook::kOther;
  }
  wait->address = std::uintptr_t(words[1]);
  wait->stack = std::uintptr_t(words[7]);
  wait->runs = 0;
  // The time on a processor, the time of waiting for one, and how often it got one.
  if (read_about(thread, "schedstat", text, sizeof text) != 0) {
    p = text;
    std::uint64_t ignored;
    if (!take_number(&p, &ignored) || !take_number(&p, &ignored) || !take_number(&p, &wait->runs)) {
      wait->runs = 0;
    }
  }
  return WaitLook::kWaits;
}

void read_name_of(std::uint32_t thread, char* name, std::size_t capacity) {
  ErrnoGuard guard;
  const std::size_t size = read_about(thread, "comm", name, capacity);
  if (size != 0 && name[size - 1] == '\n') name[size - 1] = '\0';
}

}  // namespace corbel::os
