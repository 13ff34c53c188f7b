// SPDX-License-Identifier: Apache-2.0
#include "profile/memory_functions.hpp"

#include <algorithm>
#include <array>

#include "pprof/profile.hpp"

namespace corbel::cli {
namespace {

constexpr auto kNone = std::string_view::npos;

bool begins_with(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != kNone; }

template <std::size_t count>
bool is_one_of(std::string_view name, const std::array<std::string_view, count>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The name under which other files call the function: glibc has "__GI___libc_free" for "free".
std::string_view public_name(std::string_view name) {
  for (const std::string_view prefix : {"__GI_", "__libc_"}) {
    if (begins_with(name, prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

constexpr std::array<std::string_view, 7> kAllocate = {
    "malloc", "calloc", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc"};
constexpr std::array<std::string_view, 4> kFree = {"free", "cfree", "free_sized",
                                                   "free_aligned_sized"};
constexpr std::array<std::string_view, 3> kReallocate = {"realloc", "reallocarray", "reallocf"};
// What glibc's malloc consists of.
constexpr std::array<std::string_view, 16> kGlibc = {"_int_malloc",
                                                     "_int_free",
                                                     "_int_free_merge_chunk",
                                                     "_int_free_create_chunk",
                                                     "_int_realloc",
                                                     "_int_memalign",
                                                     "_mid_memalign",
                                                     "sysmalloc",
                                                     "sysmalloc_mmap",
                                                     "systrim",
                                                     "malloc_consolidate",
                                                     "unlink_chunk",
                                                     "tcache_init",
                                                     "arena_get2",
                                                     "heap_trim",
                                                     "new_heap"};
// Every function of which belongs to an allocator.
constexpr std::array<std::string_view, 12> kFamilies = {
    "je_",        "_rjem_je_",       "mi_",        "_mi_", "tc_",
    "tcmalloc::", "rml::internal::", "snmalloc::", "sn_",  "scudo::",
    "scalable_",  "corbel::alloc::"};
constexpr std::array<std::string_view, 8> kModules = {
    "libcorbelmalloc", "libtbbmalloc", "libjemalloc", "libmimalloc",
    "libtcmalloc",     "libsnmalloc",  "libscudo",    "librpmalloc"};

MemoryFunction member_of_family(std::string_view name) {
  if (has(name, "realloc") || has(name, "recalloc") || has(name, "rallocx")) {
    return MemoryFunction::kReallocate;
  }
  if (has(name, "free") || has(name, "dallocx") || has(name, "delete")) {
    return MemoryFunction::kFree;
  }
  if (has(name, "alloc") || has(name, "memalign") || has(name, "_new")) {
    return MemoryFunction::kAllocate;
  }
  return MemoryFunction::kInside;
}

}  // namespace

MemoryFunction memory_function(const std::string& name, const std::string& module) {
  const std::string_view plain = public_name(name);
  if (is_one_of(plain, kAllocate)) return MemoryFunction::kAllocate;
  if (is_one_of(plain, kFree)) return MemoryFunction::kFree;
  if (is_one_of(plain, kReallocate)) return MemoryFunction::kReallocate;
  if (begins_with(plain, "operator new")) {
    // The placement form requests nothing.
    return plain == "operator new(unsigned long, void*)" ? MemoryFunction::kNone
                                                         : MemoryFunction::kAllocate;
  }
  if (begins_with(plain, "operator delete")) return MemoryFunction::kFree;
  // The compiler appends ".constprop.0" and the like.
  if (is_one_of(plain.substr(0, plain.find('.')), kGlibc)) return MemoryFunction::kInside;
  for (const std::string_view family : kFamilies) {
    if (!begins_with(plain, family)) continue;
    // Functions of C++ namespaces are internal, whatever they are called.
    return has(family, "::") ? MemoryFunction::kInside
                             : member_of_family(plain.substr(family.size() - 1));
  }
  const std::string file = file_name(module);
  const bool inside = std::any_of(kModules.begin(), kModules.end(),
                                  [&](std::string_view each) { return begins_with(file, each); });
  return inside ? MemoryFunction::kInside : MemoryFunction::kNone;
}

MemoryFunction purpose_inside(std::string_view name) {
  // "libcorbelmalloc.so.1+0x3020" is the name of the file.
  if (has(name, "+0x")) return MemoryFunction::kInside;
  name = name.substr(0, name.find('('));
  if (const std::size_t scope = name.rfind("::"); scope != kNone) name.remove_prefix(scope + 2);
  if (has(name, "realloc")) return MemoryFunction::kReallocate;
  for (const std::string_view word :
       {"dealloc", "free", "emptied", "send", "outbox", "purge", "consolidate", "trim", "delete"}) {
    if (has(name, word)) return MemoryFunction::kFree;
  }
  return has(name, "alloc") || has(name, "pop") || has(name, "take") ? MemoryFunction::kAllocate
                                                                     : MemoryFunction::kInside;
}

bool is_lock_wait(std::string_view name) {
  return has(name, "lll_lock_wait") || begins_with(name, "futex_wait") ||
         begins_with(name, "__futex_lock");
}

bool is_lock_function(std::string_view name) {
  if (is_lock_wait(name)) return has(name, "lock");
  std::string lower(name.substr(0, name.find('(')));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (has(lower, "unlock")) return false;
  return (has(lower, "mutex") || has(lower, "rwlock") || has(lower, "spin")) &&
         (has(lower, "lock") || has(lower, "acquire"));
}

SlowWork slow_work(std::string_view name) {
  static constexpr std::array<std::string_view, 11> kSystem = {
      "sysmalloc", "sysmalloc_mmap", "systrim", "heap_trim", "new_heap", "brk",
      "sbrk",      "mmap",           "munmap",  "madvise",   "mprotect"};
  if (begins_with(name, "malloc_consolidate")) return SlowWork::kMerging;
  name = public_name(name.substr(0, name.find('.')));
  if (begins_with(name, "__")) name.remove_prefix(2);
  return is_one_of(name, kSystem) || name == "mmap64" ? SlowWork::kSystem : SlowWork::kNone;
}

bool is_copy(std::string_view name) {
  for (const std::string_view prefix : {"__GI_", "__"}) {
    if (begins_with(name, prefix)) name.remove_prefix(prefix.size());
  }
  return begins_with(name, "memcpy") || begins_with(name, "memmove") || name == "mremap";
}

std::string_view growing_container(std::string_view name, bool allocates) {
  struct Growth {
    std::string_view word, container;
    bool always;  // else it makes room where there is some, too
  };
  static constexpr std::array kGrowths = {
      Growth{"_M_realloc_insert", "vector", true},
      Growth{"_M_realloc_append", "vector", true},
      Growth{"_M_default_append", "vector", false},
      Growth{"_M_fill_insert", "vector", false},
      Growth{"_M_range_insert", "vector", false},
      Growth{"_M_reallocate_map", "deque", true},
      Growth{"_M_rehash", "hash table", true},
      Growth{"_M_mutate", "string", true},
      Growth{"__push_back_slow_path", "vector", true},
      Growth{"__emplace_back_slow_path", "vector", true},
      Growth{"__grow_by", "string", true},
  };
  for (const Growth& growth : kGrowths) {
    if (!has(name, growth.word)) continue;
    // A deque has functions of these names that move nothing.
    if (has(name, "deque") && growth.container != "deque") return {};
    return growth.always || allocates ? growth.container : std::string_view();
  }
  return {};
}

bool is_loader_module(const std::string& module) {
  return begins_with(file_name(module), "ld-linux") || begins_with(file_name(module), "ld-2.");
}

bool is_system_module(const std::string& module) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "libc.so", "libc-2.",    "libstdc++.so", "libc++.so", "libc++abi.so",
      "libm.so", "libpthread", "libgcc_s",     "libdl."};
  const std::string file = file_name(module);
  return is_loader_module(module) || file == "[vdso]" ||
         std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view each) { return begins_with(file, each); });
}

}  // namespace corbel::cli
