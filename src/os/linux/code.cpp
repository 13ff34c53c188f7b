// SPDX-License-Identifier: Apache-2.0
// Code in memory, and the frames of signals.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "os/linux/errno_guard.hpp"
#include "os/os.hpp"

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define CORBEL_HAS_FIND_OBJECT 1
extern "C" decltype(_dl_find_object) _dl_find_object __attribute__((weak));
#endif
#endif

extern "C" void* __libc_stack_end __attribute__((weak));

namespace corbel::os {

namespace {

BuildId find_in_notes(std::uintptr_t begin, std::size_t size) {
  constexpr std::size_t kMaxSize = 4096;
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  std::size_t at = 0;
  while (at < size) {
    struct {
      ElfW(Nhdr) header;
      char name[4];
    } note;
    if (!copy_memory(&note, begin + at, sizeof note)) return {};
    const std::size_t name_size = note.header.n_namesz;
    const std::size_t content_size = note.header.n_descsz;
    if (name_size > kMaxSize || content_size > kMaxSize) return {};
    const std::size_t content = at + sizeof note.header + padded(name_size);
    at = content + padded(content_size);
    if (at > size) return {};
    if (note.header.n_type == NT_GNU_BUILD_ID && name_size == sizeof note.name &&
        std::memcmp(note.name, "GNU", sizeof note.name) == 0) {
      return {begin + content, content_size};
    }
  }
  return {};
}

}  // namespace

#if defined(CORBEL_HAS_FIND_OBJECT)
namespace {

// In a program without a dynamic loader, the C library calls malloc to prepare _dl_find_object(),
// which must not be called before: it would read through a null pointer.
constinit bool is_past_start = false;
__attribute__((constructor(101))) void note_start() { is_past_start = true; }
bool can_find_objects() { return is_past_start || getauxval(AT_BASE) != 0; }

}  // namespace
#else
namespace {

extern "C" const ElfW(Dyn) _DYNAMIC[] __attribute__((weak, visibility("hidden")));

// musl has no lock-free lookup of loaded objects. Without a dynamic loader the program is the only
// object, and its headers are known. glibc before 2.35 comes here, too.
bool find_static_program(std::uintptr_t address, CodeObject* object) {
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  if (headers == nullptr || getauxval(AT_BASE) != 0) return false;
  const std::size_t count = getauxval(AT_PHNUM);
  std::uintptr_t base = 0;  // of a program that the kernel has moved
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) {
      base = reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
      break;
    }
    // GNU's linker makes a static program that can be moved without the other.
    if (headers[i].p_type == PT_DYNAMIC && _DYNAMIC != nullptr)
      base = reinterpret_cast<std::uintptr_t>(_DYNAMIC) - headers[i].p_vaddr;
  }
  *object = {.low = UINTPTR_MAX, .is_program = true};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uintptr_t begin = base + headers[i].p_vaddr;
    if (headers[i].p_type == PT_LOAD) {
      object->low = std::min(object->low, begin);
      object->high = std::max(object->high, begin + headers[i].p_memsz);
    } else if (headers[i].p_type == PT_GNU_EH_FRAME) {
      object->unwind_index = reinterpret_cast<const unsigned char*>(begin);
    }
  }
  return object->low <= address && address < object->high;
}

}  // namespace
#endif

bool find_code(std::uintptr_t address, CodeObject* object) {
#if defined(CORBEL_HAS_FIND_OBJECT)
  dl_find_object found;
  if (_dl_find_object == nullptr || !can_find_objects() ||
      _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return false;
  }
  object->low = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
  object->high = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
  object->unwind_index = static_cast<const unsigned char*>(found.dlfo_eh_frame);
  const link_map* map = found.dlfo_link_map;
  object->is_program = map != nullptr && map->l_prev == nullptr && map->l_name[0] == '\0';
  return true;
#else
  return find_static_program(address, object);
#endif
}

BuildId find_build_id(std::uintptr_t low) {
  constexpr std::size_t kPage = 4096;
  ElfW(Ehdr) header;
  if (!copy_memory(&header, low, sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  std::uintptr_t first = 0;  // the address of `low` in the file's own terms
  bool knows_first = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment;
    const std::uintptr_t at = low + header.e_phoff + i * sizeof segment;
    if (!copy_memory(&segment, at, sizeof segment)) return {};
    if (segment.p_type == PT_LOAD && !knows_first) {
      if (segment.p_offset >= kPage) return {};
      first = segment.p_vaddr - segment.p_offset;
      knows_first = true;
    }
    if (segment.p_type != PT_NOTE || !knows_first) continue;
    const BuildId id = find_in_notes(low + (segment.p_vaddr - first), segment.p_memsz);
    if (id.size != 0) return id;
  }
  return {};
}

bool copy_memory(void* to, std::uintptr_t from, std::size_t size) {
  ErrnoGuard guard;
  const iovec local{to, size};
  const iovec remote{reinterpret_cast<void*>(from), size};
  // All of the last argument's 64 bits, which are on the stack, are read.
  const long copied = syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL);
  if (copied >= 0 || (errno != ENOSYS && errno != EPERM)) return copied == long(size);
  // A sandbox that refuses this call: the memory may disappear between the two steps.
  for (std::uintptr_t at = from & ~std::uintptr_t{7}; at < from + size; at += 8) {
    if (!can_read(at)) return false;
  }
  std::memcpy(to, reinterpret_cast<const void*>(from), size);
  return true;
}

// The system reads the set of signals before it finds that the first argument is none of its
// operations. A set at address 0 is no set, which it does not read.
bool can_read(std::uintptr_t address) {
  if (address == 0) return false;
  ErrnoGuard guard;
  constexpr int kNoOperation = -1;
  constexpr std::size_t kSetSize = 8;
  return syscall(SYS_rt_sigprocmask, kNoOperation, address, nullptr, kSetSize) == 0 ||
         errno != EFAULT;
}

std::uintptr_t main_stack_end() {
  return &__libc_stack_end != nullptr ? reinterpret_cast<std::uintptr_t>(__libc_stack_end) : 0;
}

// The kernel keeps other mappings at least 128 MiB below the stack, an emulator as far as the
// limit.
std::size_t main_stack_room() {
  static constinit std::atomic<std::size_t> room{0};
  // relaxed both: nothing else is published
  std::size_t known = room.load(std::memory_order_relaxed);
  if (known == 0) {
    ErrnoGuard guard;
    known = std::size_t{128} << 20;
    rlimit limit{};
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < known && limit.rlim_cur != 0) {
      known = limit.rlim_cur;
    }
    room.store(known, std::memory_order_relaxed);
  }
  return known;
}

#if defined(__x86_64__)

bool is_signal_return(std::uintptr_t code) {
  // mov $15, %rax or mov $15, %eax; then syscall
  constexpr std::uint64_t kWithRax = 0x0f0000000fc0c748;
  constexpr std::uint64_t kAfterRax = 0x05;
  constexpr std::uint64_t kWithEax = 0x050f0000000fb8;
  const std::uint64_t first = arch::load_word(code);
  if (first == kWithRax) return (arch::load_word(code + 8) & 0xff) == kAfterRax;
  return (first & 0x00ffffffffffffff) == kWithEax;
}

std::uintptr_t signal_context(std::uintptr_t stack_pointer) { return stack_pointer; }

int context_offset(unsigned number) {
  static constexpr int kIndex[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                   REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  return int(offsetof(ucontext_t, uc_mcontext.gregs)) + kIndex[number] * int(sizeof(greg_t));
}

int context_offset_of_pc() { return context_offset(arch::kReturnColumn); }

#else

bool is_signal_return(std::uintptr_t code) {
  constexpr std::uint64_t kMov139X8AndSvc = 0xd4000001d2801168;
  return arch::load_word(code) == kMov139X8AndSvc;
}

std::uintptr_t signal_context(std::uintptr_t stack_pointer) {
  return stack_pointer + sizeof(siginfo_t);
}

int context_offset(unsigned number) {
  constexpr unsigned kInArray = 31;
  return number < kInArray
             ? int(offsetof(ucontext_t, uc_mcontext.regs)) + int(number * sizeof(std::uint64_t))
             : int(offsetof(ucontext_t, uc_mcontext.sp));
}

int context_offset_of_pc() { return int(offsetof(ucontext_t, uc_mcontext.pc)); }

#endif

}  // namespace corbel::os
