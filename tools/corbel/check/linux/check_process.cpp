// SPDX-License-Identifier: Apache-2.0
// Checks a running process. It reads the loader's list of objects from the memory of the process.
// The slots through which each object calls malloc and related functions show where the calls
// really lead.
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "check/linux/judge.hpp"
#include "process/process_variable.hpp"
#include "program/library.hpp"
#include "program/program.hpp"
#include "program/tbb.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

struct Range {
  std::uint64_t low, high;
  std::string path;
};

std::vector<Range> read_maps(int pid) {
  std::vector<Range> ranges;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    Range range{};
    std::istringstream words(line);
    char dash = 0;
    std::string rights, offset, device, inode;
    words >> std::hex >> range.low >> dash >> range.high >> rights >> offset >> device >> inode;
    std::getline(words >> std::ws, range.path);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

std::map<std::uint64_t, std::uint64_t> read_auxv(int pid) {
  std::map<std::uint64_t, std::uint64_t> values;
  std::ifstream file(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  std::uint64_t pair[2];
  while (file.read(reinterpret_cast<char*>(pair), sizeof(pair)) && pair[0] != AT_NULL) {
    values[pair[0]] = pair[1];
  }
  return values;
}

struct RawObject {
  std::string name;
  std::uint64_t bias, dynamic;
};

// The loader's list: program header of the executable → its dynamic section → DT_DEBUG → r_debug.
std::vector<RawObject> read_link_map(const Memory& memory,
                                     const std::map<std::uint64_t, std::uint64_t>& auxv) {
  std::vector<RawObject> list;
  const auto headers = auxv.find(AT_PHDR);
  const auto count = auxv.find(AT_PHNUM);
  if (headers == auxv.end() || count == auxv.end()) return list;
  std::uint64_t bias = 0, dynamic = 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count->second, 256); ++i) {
    const auto segment = memory.get<Elf64_Phdr>(headers->second + i * sizeof(Elf64_Phdr));
    if (!segment) return list;
    if (segment->p_type == PT_PHDR) bias = headers->second - segment->p_vaddr;
    if (segment->p_type == PT_DYNAMIC) dynamic = segment->p_vaddr;
  }
  if (dynamic == 0) return list;
  std::uint64_t debug = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const auto entry = memory.get<Elf64_Dyn>(bias + dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_DEBUG) debug = entry->d_un.d_ptr;
  }
  const auto head = debug != 0 ? memory.get<r_debug>(debug) : std::nullopt;
  if (!head) return list;
  auto next = reinterpret_cast<std::uint64_t>(head->r_map);
  for (int i = 0; next != 0 && i < 65536; ++i) {
    const auto map = memory.get<link_map>(next);
    if (!map) break;
    list.push_back({memory.string_at(reinterpret_cast<std::uint64_t>(map->l_name)), map->l_addr,
                    reinterpret_cast<std::uint64_t>(map->l_ld)});
    next = reinterpret_cast<std::uint64_t>(map->l_next);
  }
  return list;
}

// A path under which this process can open a file that the other process has mapped. It goes
// through the root of that process, so that it works for containers.
std::string reachable(int pid, const std::string& path) {
  const std::string through = fmt::format("/proc/{}/root{}", pid, path);
  return access(through.c_str(), R_OK) == 0 ? through : path;
}

void read_slots(const std::vector<LoadedObject>& objects, const std::vector<Range>& ranges,
                const Memory& memory, CheckReport& report) {
  std::map<std::string, SymbolReport*> wanted;
  for (SymbolReport& symbol : report.symbols) wanted[symbol.symbol] = &symbol;
  const auto mapped_path = [&](std::uint64_t address) -> std::string {
    const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const Range& each) {
      return address >= each.low && address < each.high;
    });
    return range == ranges.end() ? std::string() : range->path;
  };
  std::map<std::string, const LoadedObject*> by_mapping;
  for (const LoadedObject& object : objects) by_mapping[mapped_path(object.low)] = &object;
  for (const LoadedObject& object : objects) {
    object.image.for_each_slot([&](const std::string& name, std::uint64_t slot) {
      const auto found = wanted.find(name);
      if (found == wanted.end()) return;
      const auto target = memory.get<std::uint64_t>(slot);
      if (!target || *target == 0) return;
      const auto owner = by_mapping.find(mapped_path(*target));
      if (owner == by_mapping.end()) return;
      if (owner->second == &object) {
        // A slot that has not been called yet still points into its own object.
        const auto own = object.image.find(name);
        if (!own || own->value != *target) return;
      }
      found->second->bindings.push_back({object.path, owner->second->path});
    });
  }
}

// Why a process does not have Corbel, by the environment it was started with.
void explain_absence(int pid, const std::map<std::uint64_t, std::uint64_t>& auxv,
                     const std::string& preload, CheckReport& report) {
  bool asked = false;
  for (const std::string& entry : preload_entries(preload)) {
    if (!is_corbel_library(entry)) continue;
    asked = true;
    if (entry.find('/') != std::string::npos && access(reachable(pid, entry).c_str(), R_OK) != 0) {
      report.reasons.push_back(
          {"missing-file", fmt::format("LD_PRELOAD names {}, which does not exist", entry), {}});
    }
  }
  const auto secure = auxv.find(AT_SECURE);
  if (secure != auxv.end() && secure->second != 0) {
    report.reasons.push_back({"setuid",
                              "the process gained rights when it started (setuid, setgid or "
                              "capabilities), so the loader ignored LD_PRELOAD",
                              {}});
  } else if (asked && report.reasons.empty()) {
    report.reasons.push_back(
        {"loader-refused", fmt::format("the loader did not load LD_PRELOAD={}", preload), {}});
  }
}

}  // namespace

CheckReport check_process(int pid) {
  CheckReport report = new_report();
  report.mode = "pid";
  report.how = fmt::format("process {}", pid);
  const auto fail = [&](std::string why) {
    report.error = std::move(why);
    report.error_code = 2;
    return report;
  };
  if (kill(pid, 0) != 0 && errno == ESRCH) return fail(fmt::format("there is no process {}", pid));
  char name[4096];
  const ssize_t length = readlink(fmt::format("/proc/{}/exe", pid).c_str(), name, sizeof(name) - 1);
  if (length < 0) {
    return fail(
        errno == EACCES || errno == EPERM
            ? fmt::format("process {} belongs to another user; no right to look into it", pid)
            : fmt::format("process {} has no program (a kernel thread, or it has ended)", pid));
  }
  const std::string executable(name, static_cast<std::size_t>(length));
  const std::string real = fmt::format("/proc/{}/exe", pid);
  report.target = executable;

  const auto facts = read_elf_facts(real);
  const auto auxv = read_auxv(pid);
  const auto ranges = read_maps(pid);
  const std::string preload = process_variable(pid, kPreloadVariable).value_or("");
  if (!facts || auxv.empty()) {
    return fail(
        fmt::format("no right to look into process {} (it needs the right to trace it)", pid));
  }
  const auto memory = std::make_shared<ProcessMemory>(pid);
  const auto given = preload_entries(preload);
  std::vector<LoadedObject> objects;
  if (facts->bits == 64 && facts->little_endian) {
    for (const RawObject& raw : read_link_map(*memory, auxv)) {
      const bool first = objects.empty();
      auto image = DynamicImage::from_memory(memory, raw.bias, raw.dynamic);
      if (!image || (!first && raw.name.find('/') == std::string::npos)) continue;
      LoadedObject object;
      object.path = first ? executable : raw.name;
      object.real_path = first ? real : reachable(pid, raw.name);
      object.low = raw.dynamic;
      object.preloaded = std::find(given.begin(), given.end(), raw.name) != given.end();
      object.image = std::move(*image);
      object.corbel = object_is_corbel(object);
      objects.push_back(std::move(object));
    }
  }
  if (objects.empty() && facts->interpreter.empty() && file_is_corbel(real)) {
    report.how += ", a static binary with the replacement inside";
    report.active = true;
    return report;
  }
  if (objects.empty()) {
    const LibrarySearch library = find_library();
    report.reasons = find_obstacles(real, *facts, library.path);
    if (report.reasons.empty()) {
      std::uint64_t probe = 0;
      const auto headers = auxv.find(AT_PHDR);
      if (headers != auxv.end() && !memory->read(headers->second, &probe, sizeof(probe))) {
        return fail(fmt::format(
            "no right to read the memory of process {} (see /proc/sys/kernel/yama/ptrace_scope)",
            pid));
      }
      report.reasons.push_back({"loader", "the process has no list of loaded objects yet", {}});
    }
    return report;
  }
  read_slots(objects, ranges, *memory, report);
  judge(objects, report);
  report.tbb = find_tbb(objects);
  if (!report.active && std::none_of(objects.begin(), objects.end(),
                                     [](const LoadedObject& object) { return object.corbel; })) {
    std::vector<Obstacle> general;
    general.swap(report.reasons);
    if (facts->interpreter.find("ld-musl") != std::string::npos) {
      report.reasons.push_back({"musl", "the program runs on musl; the library needs glibc", {}});
    }
    explain_absence(pid, auxv, preload, report);
    report.reasons.insert(report.reasons.end(), general.begin(), general.end());
  }
  return report;
}

std::vector<Setting> settings_of(int pid, std::vector<std::string>& notes) {
  return read_settings(
      read_limits(pid),
      [pid](const std::string& name) -> std::optional<std::string> {
        if (pid != 0) return process_variable(pid, name);
        const char* value = std::getenv(name.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      },
      notes);
}

}  // namespace corbel::cli
