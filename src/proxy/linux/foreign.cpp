// SPDX-License-Identifier: Apache-2.0
// Forwards foreign pointers to their owner. The owner is the allocator that would serve the process
// without us: the next definition of free in the library order. That is usually the C library's,
// but may be another replacement.
#include "proxy/linux/foreign.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "alloc/allocator.hpp"
#include "base/text.hpp"
#include "proxy/linux/address_map.hpp"

// Weak: a static executable has neither a dynamic linker nor a second allocator.
#pragma weak dlsym
#pragma weak dladdr

namespace corbel::proxy {
namespace {

struct Owner {
  void (*free)(void*) = nullptr;
  std::size_t (*usable_size)(void*) = nullptr;
};

// The depth of this thread's calls into other allocators. One of them may share our heap (the same
// library under two names in one process) and pass the pointer back to us.
thread_local int forwarding = 0;

class Forwarding {
 public:
  Forwarding() { ++forwarding; }
  ~Forwarding() { --forwarding; }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
};

template <typename Function>
void look_up(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
}

// Looks the owner up at each call, because the next library may have been unloaded. Not a hot path.
Owner find_owner() {
  Owner owner;
  if (dlsym == nullptr) return owner;
  const int saved = errno;
  void* from = RTLD_NEXT;
#if !defined(CORBEL_STATIC)  // a static heap is never shared, and the linker warns of dlopen
  if (forwarding > 0) {
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (libc != nullptr) from = libc;
  }
#endif
  look_up(from, "free", owner.free);
  look_up(from, "malloc_usable_size", owner.usable_size);
  errno = saved;
  return owner;
}

bool is_glibc(void (*function)(void*)) {
  Dl_info info;
  if (dladdr == nullptr || dladdr(reinterpret_cast<void*>(function), &info) == 0 ||
      info.dli_fname == nullptr) {
    return false;
  }
  const char* name = strrchr(info.dli_fname, '/');
  name = name != nullptr ? name + 1 : info.dli_fname;
  return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

// Whether glibc may have allocated the block, judged by the two words before it. glibc's own free
// checks less, so a random address that reached it could corrupt its heap. Requires: `mapping`
// contains the block.
bool looks_like_glibc_block(const void* block, const Mapping& mapping) {
  constexpr std::uintptr_t kPreviousInUse = 1;
  constexpr std::uintptr_t kMapped = 2;
  constexpr std::uintptr_t kOtherArena = 4;
  constexpr std::uintptr_t kSizeMask = ~std::uintptr_t{7};
  constexpr std::uintptr_t kPageMask = 4095;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  if (address - mapping.start < 16) return false;
  const auto* words = static_cast<const std::uintptr_t*>(block);
  const std::uintptr_t previous_size = words[-2];
  const std::uintptr_t flags = words[-1];
  const std::uintptr_t size = flags & kSizeMask;
  const std::uintptr_t start = address - 16;
  if (size < 32 || size % 16 != 0 || size > mapping.end - start) return false;
  if ((flags & kMapped) != 0) {
    return previous_size <= start - mapping.start && ((start - previous_size) & kPageMask) == 0 &&
           ((previous_size + size) & kPageMask) == 0;
  }
  // Only a block of the main arena, which lies in the brk segment, lacks the other-arena flag.
  if ((flags & kOtherArena) == 0 && mapping.place != Place::kBreak) return false;
  if (mapping.end - start - size < 16) return false;
  std::uintptr_t next_flags;
  memcpy(&next_flags, reinterpret_cast<const void*>(start + size + 8), sizeof(next_flags));
  return (next_flags & kPreviousInUse) != 0;
}

using Message = Text<400>;

[[noreturn]] void refuse(const char* function, const void* block, const Mapping& mapping) {
  Message why{};
  why.add("not a heap block: ");
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  switch (mapping.place) {
    case Place::kUnmapped:
      why.add(mapping.end != 0 && address < mapping.end && address >= mapping.start
                  ? "it lies in memory that cannot be read"
                  : "it is not mapped");
      break;
    case Place::kStack:
      why.add("it lies in the stack");
      break;
    case Place::kShared:
      why.add("it lies in shared memory");
      break;
    case Place::kImage:
    case Place::kFile:
      why.add("it lies in ").add(mapping.name).add(mapping.writable ? " (data)" : " (read-only)");
      break;
    default:
      why.add(address % 16 != 0 ? "no allocator aligns a block so"
                                : "it lies in memory that no known allocator handed out");
  }
  alloc::die(function, why.data(), block);
}

// Returns the owner of the block. Ends the process when there is none.
Owner owner_or_die(const char* function, const void* block) {
  const Mapping mapping = find_mapping(block);
  switch (mapping.place) {
    case Place::kUnknown:
    case Place::kBreak:
    case Place::kAnonymous:
      break;
    default:
      refuse(function, block, mapping);
  }
  const bool writable = mapping.writable || mapping.place == Place::kUnknown;
  if (!writable || reinterpret_cast<std::uintptr_t>(block) % 16 != 0) {
    refuse(function, block, mapping);
  }
  const Owner owner = find_owner();
  if (owner.free == nullptr) refuse(function, block, mapping);
  if (mapping.place != Place::kUnknown && is_glibc(owner.free) &&
      !looks_like_glibc_block(block, mapping)) {
    refuse(function, block, mapping);
  }
  return owner;
}

constexpr alloc::ForeignHandlers kHandlers = {
    foreign_free,
    foreign_realloc,
    foreign_usable_size,
};

}  // namespace

void install_foreign_handlers() noexcept { alloc::set_foreign_handlers(&kHandlers); }

void foreign_free(void* block) noexcept {
  const int saved = errno;
  const Owner owner = owner_or_die("free", block);
  {
    Forwarding guard;
    owner.free(block);
  }
  errno = saved;
}

void* foreign_realloc(void* block, std::size_t size) noexcept {
  const Owner owner = owner_or_die("realloc", block);
  void* moved = nullptr;
  if (size != 0) {
    Forwarding guard;
    if (owner.usable_size == nullptr) {
      alloc::die("realloc", "the owner of the block does not tell its size", block);
    }
    const std::size_t old_size = owner.usable_size(block);
    moved = alloc::allocate(size);
    if (moved == nullptr) return nullptr;
    memcpy(moved, block, old_size < size ? old_size : size);
  }
  const int saved = errno;
  Forwarding guard;
  owner.free(block);
  errno = saved;
  return moved;
}

std::size_t foreign_usable_size(void* block) noexcept {
  const Mapping mapping = find_mapping(block);
  if (mapping.place != Place::kBreak && mapping.place != Place::kAnonymous) return 0;
  if (reinterpret_cast<std::uintptr_t>(block) % 16 != 0) return 0;
  const Owner owner = find_owner();
  if (owner.usable_size == nullptr) return 0;
  if (is_glibc(owner.free) && !looks_like_glibc_block(block, mapping)) return 0;
  Forwarding guard;
  return owner.usable_size(block);
}

}  // namespace corbel::proxy
