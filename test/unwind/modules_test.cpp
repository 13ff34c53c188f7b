// SPDX-License-Identifier: Apache-2.0
// The list of mapped code.
#include "unwind/modules.hpp"

#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <string>

#include "unwind_test.hpp"

namespace {

using corbel::unwind::for_each_module;
using corbel::unwind::Module;

struct Copy {
  std::uintptr_t start, end, offset;
  std::string path, build_id;
};

std::vector<Copy> all_modules() {
  std::vector<Copy> all;
  const auto add = [&all](const Module& m) {
    all.push_back({m.start, m.end, m.offset, m.path,
                   std::string(reinterpret_cast<const char*>(m.build_id), m.build_id_size)});
    return true;
  };
  CHECK(for_each_module(add));
  return all;
}

const Copy* module_of(const std::vector<Copy>& all, const void* code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  for (const Copy& copy : all) {
    if (copy.start <= address && address < copy.end) return &copy;
  }
  return nullptr;
}

// What the dynamic linker says.
struct Loaded {
  const void* code;
  std::string build_id;
};

std::vector<Loaded> loaded_objects() {
  std::vector<Loaded> all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        Loaded loaded{nullptr, ""};
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) loaded.code = at;
          const char* const end = at + segment.p_memsz;
          while (segment.p_type == PT_NOTE && at < end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* const content = at + sizeof note + (note.n_namesz + 3) / 4 * 4;
            if (note.n_type == NT_GNU_BUILD_ID) loaded.build_id = {content, note.n_descsz};
            at = content + (note.n_descsz + 3) / 4 * 4;
          }
        }
        static_cast<std::vector<Loaded>*>(argument)->push_back(loaded);
        return 0;
      },
      &all);
  return all;
}

TEST_CASE(every_loaded_object_is_a_module) {
  const std::vector<Copy> all = all_modules();
  unsigned with_build_id = 0;
  for (const Loaded& loaded : loaded_objects()) {
    if (loaded.code == nullptr) continue;
    const Copy* const found = module_of(all, loaded.code);
    CHECK(found != nullptr);
    if (found == nullptr) continue;
    CHECK(found->build_id == loaded.build_id);
    with_build_id += loaded.build_id.empty() ? 0 : 1;
  }
  CHECK(with_build_id > 0);
}

TEST_CASE(modules_are_sorted_and_have_their_paths) {
  const std::vector<Copy> all = all_modules();
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].end <= all[i].start);
  char path[PATH_MAX] = {};
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  const Copy* const own = module_of(all, reinterpret_cast<const void*>(&main));
  CHECK(own != nullptr && own->path == path);
  CHECK(module_of(all, &all) == nullptr);
}

TEST_CASE(the_walk_over_modules_stops) {
  unsigned count = 0;
  const auto stop = [&count](const Module&) { return ++count != 2; };
  CHECK(for_each_module(stop));
  CHECK(count == 2);
}

}  // namespace
