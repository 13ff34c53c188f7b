// SPDX-License-Identifier: Apache-2.0
// Memory is address space (reservations.hpp) of which pages are committed and decommitted.
#include <algorithm>

#include "base/bits.hpp"
#include "os/os.hpp"
#include "os/windows/api.hpp"
#include "os/windows/reservations.hpp"

namespace corbel::os {
namespace {

// Calls `each(address, size)` for the parts of the range in which all pages have the same state, as
// the system tells it, until it returns false. No part reaches from one reservation into the next.
template <class Each>
bool for_each_part(void* address, std::size_t size, Each each) {
  char* at = static_cast<char*>(address);
  char* const end = at + size;
  while (at < end) {
    MEMORY_BASIC_INFORMATION info;
    if (VirtualQuery(at, &info, sizeof info) == 0 || info.State == MEM_FREE) return false;
    char* const stop = std::min(static_cast<char*>(info.BaseAddress) + info.RegionSize, end);
    if (!each(at, std::size_t(stop - at), info.State == MEM_COMMIT)) return false;
    at = stop;
  }
  return true;
}

bool commit_part(void* address, std::size_t size) {
  return VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

bool decommit_part(void* address, std::size_t size) {
  return VirtualFree(address, size, MEM_DECOMMIT) != 0;
}

bool protect_part(void* address, std::size_t size, DWORD access) {
  DWORD before;
  return VirtualProtect(address, size, access, &before) != 0;
}

}  // namespace

// Of all processors that Windows runs on today.
std::size_t page_size() { return 4096; }

void* reserve(std::size_t size, std::size_t alignment, void* hint) {
  LastErrorGuard guard;
  return take_addresses(size, alignment, hint);
}

void* map(std::size_t size, std::size_t alignment, void* hint) {
  LastErrorGuard guard;
  void* const memory = take_addresses(size, alignment, hint);
  if (memory == nullptr || commit(memory, size)) return memory;
  unmap(memory, size);
  return nullptr;
}

void* map_unlocked(std::size_t) { return nullptr; }
bool lock_limit_has_refused() { return false; }
void unlock(const void*, std::size_t) {}

// The system refuses what reaches from one reservation into the next, before it changes anything.
// That is rare, so the parts are only looked for afterwards.
bool commit(void* address, std::size_t size) {
  LastErrorGuard guard;
  if (commit_part(address, size)) return true;
  return for_each_part(address, size, [](void* part, std::size_t bytes, bool is_committed) {
    return is_committed || commit_part(part, bytes);
  });
}

bool decommit(void* address, std::size_t size) {
  LastErrorGuard guard;
  if (decommit_part(address, size)) return true;
  return for_each_part(address, size, [](void* part, std::size_t bytes, bool is_committed) {
    return !is_committed || decommit_part(part, bytes);
  });
}

// Another process may take the memory before it is committed again.
bool clear(void*, std::size_t) { return false; }

bool unmap(void* address, std::size_t size) {
  LastErrorGuard guard;
  if (!decommit(address, size)) {
    commit(address, size);
    return false;
  }
  give_addresses(address, size);
  return true;
}

bool protect(void* address, std::size_t size, Access access) {
  LastErrorGuard guard;
  const DWORD protection = access == Access::kAll ? PAGE_READWRITE : PAGE_NOACCESS;
  if (protect_part(address, size, protection)) return true;
  return for_each_part(address, size, [=](void* part, std::size_t bytes, bool is_committed) {
    return !is_committed || protect_part(part, bytes, protection);
  });
}

void populate(void*, std::size_t) {}
bool is_resident(void*) { return false; }
Moved move_pages(void*, void*, std::size_t) { return Moved::kUnchanged; }
void advise(void*, std::size_t, PageAdvice) {}

}  // namespace corbel::os
