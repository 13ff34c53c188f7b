// SPDX-License-Identifier: Apache-2.0
// The files that a process has loaded. In a file of its own because the allocator, which does not
// need it, then does not link it.
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "os/os.hpp"

namespace corbel::os {
namespace {

struct Search {
  std::uintptr_t address;
  char* path;
  std::size_t room;
  std::uintptr_t* base;
  bool is_program;  // the module to be looked at is the first one
  bool found;
};

bool is_in(const dl_phdr_info& module, std::uintptr_t address) {
  for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
    const auto& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    if (address - (module.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

int look_at(dl_phdr_info* module, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const bool is_program = std::exchange(search.is_program, false);
  if (!is_in(*module, search.address)) return 0;
  *search.base = module->dlpi_addr;
  if (!is_program) {
    std::snprintf(search.path, search.room, "%s", module->dlpi_name);
    search.found = true;
  } else {  // its name there is none, or what it was started by
    const ssize_t length = readlink("/proc/self/exe", search.path, search.room - 1);
    search.path[length < 0 ? 0 : length] = '\0';
    search.found = length > 0;
  }
  return 1;
}

}  // namespace

bool find_module(const void* address, char* path, std::size_t room, std::uintptr_t* base) {
  Search search{reinterpret_cast<std::uintptr_t>(address), path, room, base, true, false};
  dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace corbel::os
