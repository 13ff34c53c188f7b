// SPDX-License-Identifier: Apache-2.0
// Code in memory, and the frames of signals.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

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

bool find_code(std::uintptr_t address, CodeObject* object) {
#if defined(CORBEL_HAS_FIND_OBJECT)
  dl_find_object found;
  if (_dl_find_object == nullptr ||
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
  static_cast<void>(address);
  static_cast<void>(object);
  return false;
#endif
}

BuildId find_build_id(std::uintptr_t low) {
  constexpr std::size_t kPage = 4096;
  const auto* const page = reinterpret_cast<const unsigned char*>(low);
  ElfW(Ehdr) header;
  std::memcpy(&header, page, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phoff > kPage) return {};
  if (header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > kPage) return {};
  const auto segment = [&](unsigned i) {
    ElfW(Phdr) result;
    std::memcpy(&result, page + header.e_phoff + i * sizeof result, sizeof result);
    return result;
  };
  std::uintptr_t first = UINTPTR_MAX;  // the address of the page in the file's own terms
  for (unsigned i = 0; i < header.e_phnum && first == UINTPTR_MAX; ++i) {
    const ElfW(Phdr) s = segment(i);
    if (s.p_type == PT_LOAD) first = s.p_vaddr - s.p_offset % kPage;
    if (s.p_type == PT_LOAD && s.p_offset >= kPage) return {};
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const ElfW(Phdr) s = segment(i);
    const std::uintptr_t begin = s.p_vaddr - first;
    if (s.p_type != PT_NOTE || begin > kPage || s.p_memsz > kPage - begin) continue;
    std::size_t at = begin;
    while (at + sizeof(ElfW(Nhdr)) <= begin + s.p_memsz) {
      ElfW(Nhdr) note;
      std::memcpy(&note, page + at, sizeof note);
      if (note.n_namesz > kPage || note.n_descsz > kPage) break;
      const std::size_t name = at + sizeof note;
      const std::size_t content = name + (note.n_namesz + 3) / 4 * 4;
      at = content + (note.n_descsz + 3) / 4 * 4;
      if (at > begin + s.p_memsz) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(page + name, "GNU", 4) == 0) {
        return {page + content, note.n_descsz};
      }
    }
  }
  return {};
}

// The system reads the set of signals before it finds that the first argument is none of its
// operations.
bool can_read(std::uintptr_t address) {
  ErrnoGuard guard;
  constexpr int kNoOperation = -1;
  constexpr std::size_t kSetSize = 8;
  return syscall(SYS_rt_sigprocmask, kNoOperation, address, nullptr, kSetSize) == 0 ||
         errno != EFAULT;
}

std::uintptr_t main_stack_end() {
  return &__libc_stack_end != nullptr ? reinterpret_cast<std::uintptr_t>(__libc_stack_end) : 0;
}

#if defined(__x86_64__)

bool is_signal_return(const unsigned char* code) {
  static constexpr unsigned char kMov15Rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  static constexpr unsigned char kMov15Eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
  return std::memcmp(code, kMov15Rax, sizeof kMov15Rax) == 0 ||
         std::memcmp(code, kMov15Eax, sizeof kMov15Eax) == 0;
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

bool is_signal_return(const unsigned char* code) {
  static constexpr unsigned char kMov139X8[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
  return std::memcmp(code, kMov139X8, sizeof kMov139X8) == 0;
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
