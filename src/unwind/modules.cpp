// SPDX-License-Identifier: Apache-2.0
#include "unwind/modules.hpp"

#include <cstring>

#include "os/os.hpp"

namespace corbel::unwind {

namespace {

constexpr std::size_t kMaxBuildId = 64;

struct Search {
  bool (*each)(const Module&, void*);
  void* argument;
  // The last mapping of the beginning of a file. The others of the file follow it.
  std::uintptr_t low;
  std::uint64_t path_hash;
};

std::uint64_t hash_of(const char* path) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (; *path != '\0'; ++path) hash = (hash ^ std::uint8_t(*path)) * 0x100000001b3;
  return hash;
}

bool is_module(const os::Mapping& mapping) {
  return mapping.path[0] == '/' || std::strcmp(mapping.path, "[vdso]") == 0;
}

bool visit(const os::Mapping& mapping, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  if (!is_module(mapping)) return true;
  const std::uint64_t hash = hash_of(mapping.path);
  if (mapping.offset == 0) {
    search.low = mapping.start;
    search.path_hash = hash;
  }
  if (!mapping.is_executable) return true;
  unsigned char build_id[kMaxBuildId];
  Module module{mapping.start, mapping.end, mapping.offset, mapping.path, build_id, 0};
  if (search.low != 0 && search.path_hash == hash) {
    const os::BuildId id = os::find_build_id(search.low);
    if (id.size <= kMaxBuildId && os::copy_memory(build_id, id.address, id.size)) {
      module.build_id_size = id.size;
    }
  }
  return search.each(module, search.argument);
}

}  // namespace

bool for_each_module(bool (*each)(const Module&, void*), void* argument) {
  Search search{each, argument, 0, 0};
  return os::for_each_mapping(visit, &search);
}

}  // namespace corbel::unwind
