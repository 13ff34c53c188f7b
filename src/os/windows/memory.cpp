// SPDX-License-Identifier: Apache-2.0
// Each mapping is a reservation of its own, committed as a whole.
#include <algorithm>

#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// The system takes no range that reaches from one reservation into the next. Calls
// `each(address, size)` for the part in each, until it returns false.
template <class Each>
bool for_each_reservation(void* address, std::size_t size, Each each) {
  char* at = static_cast<char*>(address);
  char* const end = at + size;
  while (at < end) {
    MEMORY_BASIC_INFORMATION info;
    if (VirtualQuery(at, &info, sizeof info) == 0 || info.State == MEM_FREE) return false;
    char* stop = at;
    const void* const reservation = info.AllocationBase;
    do {
      stop = static_cast<char*>(info.BaseAddress) + info.RegionSize;
    } while (stop < end && VirtualQuery(stop, &info, sizeof info) != 0 && info.State != MEM_FREE &&
             info.AllocationBase == reservation);
    stop = std::min(stop, end);
    if (!each(at, std::size_t(stop - at))) return false;
    at = stop;
  }
  return true;
}

void* reserve(void* address, std::size_t size) {
  return VirtualAlloc(address, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

bool is_aligned(const void* address, std::size_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) == 0;
}

// Whether the range is all of one reservation.
bool is_reservation(const void* address, std::size_t size) {
  MEMORY_BASIC_INFORMATION info;
  const char* const start = static_cast<const char*>(address);
  if (VirtualQuery(start, &info, sizeof info) == 0 || info.AllocationBase != address) return false;
  const char* at = start;
  do {
    at = static_cast<const char*>(info.BaseAddress) + info.RegionSize;
  } while (VirtualQuery(at, &info, sizeof info) != 0 && info.State != MEM_FREE &&
           info.AllocationBase == address);
  return at == start + size;
}

}  // namespace

// Of all processors that Windows runs on today.
std::size_t page_size() { return 4096; }

void* map(std::size_t size, std::size_t alignment, void* hint) {
  LastErrorGuard guard;
  if (hint != nullptr && is_aligned(hint, alignment)) {
    if (void* const memory = reserve(hint, size); memory != nullptr) return memory;
  }
  void* memory = reserve(nullptr, size);
  // Another thread may take the aligned part of a range that was found and given back.
  for (int tries = 0; memory != nullptr && !is_aligned(memory, alignment) && tries < 100; ++tries) {
    VirtualFree(memory, 0, MEM_RELEASE);
    void* const room = VirtualAlloc(nullptr, size + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (room == nullptr) return nullptr;
    VirtualFree(room, 0, MEM_RELEASE);
    const auto start = (reinterpret_cast<std::uintptr_t>(room) + alignment - 1) & ~(alignment - 1);
    memory = reserve(reinterpret_cast<void*>(start), size);
    if (memory == nullptr) memory = reserve(nullptr, size);
  }
  if (memory != nullptr && !is_aligned(memory, alignment)) {
    VirtualFree(memory, 0, MEM_RELEASE);
    return nullptr;
  }
  return memory;
}

void* map_unlocked(std::size_t) { return nullptr; }
bool lock_limit_has_refused() { return false; }
void unlock(const void*, std::size_t) {}

// The system releases reservations as a whole only.
bool unmap(void* address, std::size_t size) {
  LastErrorGuard guard;
  if (is_reservation(address, size)) return VirtualFree(address, 0, MEM_RELEASE) != 0;
  for_each_reservation(address, size, [](void* part, std::size_t bytes) {
    VirtualAlloc(part, bytes, MEM_RESET, PAGE_READWRITE);
    return true;
  });
  return false;
}

// Commits the range again at once: the pages are no longer resident, but the system still counts
// them.
bool decommit(void* address, std::size_t size) {
  LastErrorGuard guard;
  return for_each_reservation(address, size, [](void* part, std::size_t bytes) {
    if (VirtualFree(part, bytes, MEM_DECOMMIT) == 0) return false;
    // The system has just got as much back.
    if (VirtualAlloc(part, bytes, MEM_COMMIT, PAGE_READWRITE) == nullptr) abort();
    return true;
  });
}

bool protect(void* address, std::size_t size, Access access) {
  LastErrorGuard guard;
  return for_each_reservation(address, size, [access](void* part, std::size_t bytes) {
    DWORD before;
    return VirtualProtect(part, bytes, access == Access::kAll ? PAGE_READWRITE : PAGE_NOACCESS,
                          &before) != 0;
  });
}

void populate(void*, std::size_t) {}
bool is_resident(void*) { return false; }
Moved move_pages(void*, void*, std::size_t) { return Moved::kUnchanged; }
void advise(void*, std::size_t, PageAdvice) {}

}  // namespace corbel::os
