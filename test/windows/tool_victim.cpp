// SPDX-License-Identifier: Apache-2.0
// What the corbel command starts in its tests: tells how it was started, and ends as it is told.
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

char** read_log() {
  const HMODULE proxy = GetModuleHandleA("corbelmalloc_proxy.dll");
  const auto log = reinterpret_cast<int (*)(char***)>(
      reinterpret_cast<void*>(GetProcAddress(proxy, "TBB_malloc_replacement_log")));
  char** lines = nullptr;
  if (log != nullptr) log(&lines);
  return lines;
}

// Whether malloc is replaced, as the replacement itself says.
const char* replaced() {
  for (char** lines = read_log(); lines != nullptr && *lines != nullptr; ++lines) {
    if (std::strncmp(*lines, "Success: malloc (", 17) == 0) return "replaced";
  }
  return "not replaced";
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "words") {
    for (int i = 2; i < count; ++i) std::printf("[%s]\n", words[i]);
  } else if (what == "malloc") {
    std::puts(replaced());
  } else if (what == "log") {
    for (char** lines = read_log(); lines != nullptr && *lines != nullptr; ++lines)
      std::puts(*lines);
  } else if (what == "variable") {
    const char* value = std::getenv(words[2]);
    std::puts(value != nullptr ? value : "not set");
  } else if (what == "copy") {
    for (int c; (c = std::getchar()) != EOF;) std::putchar(c);
  } else if (what == "hold") {
    // Memory that the system must have counted at the end.
    std::vector<char*> blocks;
    for (int i = 0; i < 64; ++i) {
      blocks.push_back(static_cast<char*>(std::malloc(1 << 20)));
      std::memset(blocks.back(), 1, 1 << 20);
    }
    // Long enough for a look at a process whose figures are gone at its end, as in Wine.
    Sleep(100);
    for (char* block : blocks) std::free(block);
  } else if (what == "sections") {
    const auto* const image = reinterpret_cast<const char*>(GetModuleHandleA(nullptr));
    const auto* const header = reinterpret_cast<const IMAGE_NT_HEADERS64*>(
        image + reinterpret_cast<const IMAGE_DOS_HEADER*>(image)->e_lfanew);
    const IMAGE_SECTION_HEADER* const sections = IMAGE_FIRST_SECTION(header);
    for (int i = 0; i < header->FileHeader.NumberOfSections; ++i) {
      std::printf("%.8s %lx %lx %lx\n", reinterpret_cast<const char*>(sections[i].Name),
                  sections[i].VirtualAddress, sections[i].Misc.VirtualSize,
                  sections[i].Characteristics);
    }
  } else if (what == "code-page") {
    std::printf("%u\n", GetConsoleOutputCP());
  } else if (what == "fault") {
    *static_cast<volatile int*>(nullptr) = 1;
  } else if (what == "ended") {
    // The number of a process that has ended, while that has a handle.
    STARTUPINFOA start{};
    PROCESS_INFORMATION made{};
    CreateProcessA(words[0], nullptr, nullptr, nullptr, FALSE, 0, nullptr, nullptr, &start, &made);
    WaitForSingleObject(made.hProcess, INFINITE);
    std::printf("%lu\n", made.dwProcessId);
    std::fflush(stdout);
    std::getchar();
  } else if (what == "wait") {
    if (count > 2) LoadLibraryA(words[2]);
    std::printf("%lu\n", GetCurrentProcessId());
    std::fflush(stdout);
    std::getchar();
  }
  return what == "exit" ? std::atoi(words[2]) : 0;
}
