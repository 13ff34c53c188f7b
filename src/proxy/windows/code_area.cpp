// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/code_area.hpp"

#include "base/bits.hpp"
#include "os/windows/api.hpp"

namespace corbel::proxy {
namespace {

constexpr std::uintptr_t kGranule = 64 << 10;  // the system's, of reservations
constexpr std::uintptr_t kReach = (std::uintptr_t(2) << 30) - (64 << 20);

unsigned char* try_at(std::uintptr_t address, std::size_t size) {
  return static_cast<unsigned char*>(
      VirtualAlloc(pointer_to(address), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

unsigned char* find_above(std::uintptr_t from, std::uintptr_t to, std::size_t size) {
  MEMORY_BASIC_INFORMATION info;
  for (std::uintptr_t at = align_up(from, kGranule); at < to;) {
    if (VirtualQuery(pointer_to(at), &info, sizeof info) == 0) break;
    const std::uintptr_t end = address_of(info.BaseAddress) + info.RegionSize;
    if (info.State == MEM_FREE && at + size <= end) {
      if (unsigned char* const area = try_at(at, size); area != nullptr) return area;
    }
    at = align_up(end, kGranule);
  }
  return nullptr;
}

unsigned char* find_below(std::uintptr_t from, std::uintptr_t to, std::size_t size) {
  MEMORY_BASIC_INFORMATION info;
  for (std::uintptr_t at = align_down(from - kGranule, kGranule); at > to;) {
    if (VirtualQuery(pointer_to(at), &info, sizeof info) == 0) break;
    if (info.State == MEM_FREE) {
      if (unsigned char* const area = try_at(at, size); area != nullptr) return area;
      at -= kGranule;
    } else {
      at = align_down(address_of(info.AllocationBase) - 1, kGranule);
    }
  }
  return nullptr;
}

}  // namespace

CodeArea::CodeArea(const Image& image) {
  const std::uintptr_t base = address_of(image.base());
  // From its far end, too, the library is in reach.
  start_ = find_above(base + image.size(), base + kReach, kSize);
  if (start_ == nullptr) {
    const std::uintptr_t end = base + image.size();
    start_ = find_below(base, end > kReach ? end - kReach : 0, kSize);
  }
}

bool CodeArea::seal() {
  DWORD before;
  return VirtualProtect(start_, kSize, PAGE_EXECUTE_READ, &before) &&
         FlushInstructionCache(GetCurrentProcess(), start_, kSize);
}

void CodeArea::release(void* start) {
  if (start != nullptr) VirtualFree(start, 0, MEM_RELEASE);
}

}  // namespace corbel::proxy
