// SPDX-License-Identifier: Apache-2.0
// The files that a process has loaded. In a file of its own because the allocator, which does not
// need it, then does not link it.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>

#include "os/os.hpp"

namespace corbel::os {

bool find_module(const void* address, char* path, std::size_t room, std::uintptr_t* base) {
  Dl_info info;
#if !defined(RTLD_DL_LINKMAP)  // musl
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  *base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  std::snprintf(path, room, "%s", info.dli_fname);
  return true;
#else
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      map == nullptr) {
    return false;
  }
  *base = map->l_addr;
  if (map->l_name != nullptr && *map->l_name != '\0') {
    std::snprintf(path, room, "%s", map->l_name);
    return true;
  }
  // The program itself has no name there.
  const ssize_t length = readlink("/proc/self/exe", path, room - 1);
  path[length < 0 ? 0 : length] = '\0';
  return length > 0;
#endif
}

}  // namespace corbel::os
