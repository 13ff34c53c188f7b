// SPDX-License-Identifier: Apache-2.0
// The facts about the machine that every measurement must state.
#include "compare/machine.hpp"

#include <fmt/core.h>
#include <windows.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "run/windows/ntdll.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace {

std::string processor_name() {
  wchar_t name[256] = {};
  DWORD size = sizeof name - sizeof name[0];
  const LSTATUS status =
      RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   L"ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &size);
  return status == ERROR_SUCCESS ? narrow(name) : "x86-64";
}

// GetVersionEx tells of no version later than those that the program's manifest names.
std::string system_name() {
  OSVERSIONINFOW version{};
  version.dwOSVersionInfoSize = sizeof version;
  if (const auto get = ntdll_function<LONG NTAPI(OSVERSIONINFOW*)>("RtlGetVersion")) get(&version);
  std::string name = fmt::format("Windows {}.{}.{}", version.dwMajorVersion, version.dwMinorVersion,
                                 version.dwBuildNumber);
  if (const auto wine = ntdll_function<const char*()>("wine_get_version")) {
    name += fmt::format(" (Wine {})", wine());
  }
  return name;
}

}  // namespace

nlohmann::json machine_facts() {
  SYSTEM_INFO system{};
  GetSystemInfo(&system);
  DWORD_PTR mine = 0, all = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  GlobalMemoryStatusEx(&memory);
  return {{"processor", processor_name()},
          {"architecture", "x86_64"},
          {"cores", static_cast<long>(system.dwNumberOfProcessors)},
          {"usable_cores", std::popcount(static_cast<std::uint64_t>(mine))},
          {"memory_bytes", memory.ullTotalPhys},
          {"page_bytes", system.dwPageSize},
          {"kernel", system_name()}};
}

std::string machine_line() {
  const nlohmann::json facts = machine_facts();
  return fmt::format("{}, {} of {} cores, {:.1f} GiB, {}", facts["processor"].get<std::string>(),
                     facts["usable_cores"].get<int>(), facts["cores"].get<long>(),
                     facts["memory_bytes"].get<double>() / (1u << 30),
                     facts["kernel"].get<std::string>());
}

}  // namespace corbel::cli
