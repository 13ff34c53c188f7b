// SPDX-License-Identifier: Apache-2.0
// The process barrier: FlushProcessWriteBuffers(). In Wine that does nothing (seen in 8.0); there,
// taking the right to write from a page makes the kernel interrupt every processor that runs this
// process, to drop the old right, and an interrupt is a full fence.
#include <string.h>

#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// Wine can be told to hide its functions, but not what its libraries have after their first header.
bool is_wine() {
  static constexpr char kMark[] = "Wine builtin DLL";
  LastErrorGuard guard;
  const HMODULE library = GetModuleHandleA("ntdll.dll");
  const auto* const header = reinterpret_cast<const IMAGE_DOS_HEADER*>(library);
  if (header->e_lfanew >= LONG(sizeof *header + sizeof kMark) &&
      memcmp(header + 1, kMark, sizeof kMark - 1) == 0) {
    return true;
  }
  return GetProcAddress(library, "wine_get_version") != nullptr;
}

enum State : std::uint32_t { kUnknown, kWindows, kWine };
// relaxed all: every thread that asks finds the same
constinit std::atomic<std::uint32_t> state{kUnknown};

alignas(4096) constinit char page[4096]{};
// Two threads that change the page's rights at once might leave nothing for the second to change.
constinit SRWLOCK page_lock = SRWLOCK_INIT;

void interrupt_processors() {
  LastErrorGuard guard;
  DWORD before;
  AcquireSRWLockExclusive(&page_lock);
  VirtualProtect(page, sizeof page, PAGE_READWRITE, &before);
  *const_cast<volatile char*>(page) = 1;
  VirtualProtect(page, sizeof page, PAGE_READONLY, &before);
  ReleaseSRWLockExclusive(&page_lock);
}

}  // namespace

bool enable_process_barrier() {
  if (state.load(std::memory_order_relaxed) == kUnknown) {
    state.store(is_wine() ? kWine : kWindows, std::memory_order_relaxed);
  }
  return true;
}

bool has_process_barrier() { return state.load(std::memory_order_relaxed) != kUnknown; }

void process_barrier() {
  // (1) seq_cst: the calling thread's fence, as (1) below makes the other threads pass one
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // The system has ended them, perhaps while one held the lock of the page.
  if (other_threads_are_gone()) return;
  // (1) the other threads' fences
  switch (state.load(std::memory_order_relaxed)) {
    case kWindows:
      FlushProcessWriteBuffers();
      break;
    case kWine:
      interrupt_processors();
      break;
    default:
      break;
  }
}

}  // namespace corbel::os
