// SPDX-License-Identifier: Apache-2.0
// DLLs that are loaded late and unloaded while blocks live.
#include "../find.hpp"
#include "checks.hpp"

namespace {

bool has_only(const void* block, unsigned char value, std::size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(block);
  return bytes[0] == value && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

}  // namespace

int main() {
  // Brings the allocator's DLL with it.
  const HMODULE plugin = LoadLibraryA("windows_memory_plugin.dll");
  if (!check(plugin != nullptr, "the DLL is loaded")) return result();
  auto* const make_block = find<void*(std::size_t)>(plugin, "make_block");
  void* const small = make_block(100);
  void* const large = make_block(1000000);
  check(FreeLibrary(plugin) != 0, "the DLL is unloaded");
  check(GetModuleHandleA("windows_memory_plugin.dll") == nullptr, "the DLL is gone");

  const HMODULE allocator = GetModuleHandleA("corbelmalloc.dll");
  if (!check(allocator != nullptr, "the allocator stays")) return result();
  check(has_only(small, 0x77, 100) && has_only(large, 0x77, 1000000), "the blocks stay");
  auto* const free_block = find<void(void*)>(allocator, "scalable_free");
  auto* const allocate = find<void*(std::size_t)>(allocator, "scalable_malloc");
  free_block(small);
  free_block(large);

  void* const block = allocate(50);
  std::memset(block, 0x33, 50);
  for (int i = 0; i < 5; ++i) {
    const HMODULE again = LoadLibraryA("corbelmalloc.dll");
    check(again == allocator, "the allocator is loaded once");
    FreeLibrary(again);
    FreeLibrary(again);
  }
  check(GetModuleHandleA("corbelmalloc.dll") == allocator, "the allocator still stays");
  check(has_only(block, 0x33, 50), "the content of a block");
  free_block(block);
  return result();
}
