// SPDX-License-Identifier: Apache-2.0
// Parts of src/os/windows by themselves.
#include <errno.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "checks.hpp"
#include "os/os.hpp"
#include "os/windows/container.hpp"
#include "os/windows/reservations.hpp"

namespace {

using namespace corbel;

constexpr std::size_t kUnit = 65536;
constexpr std::size_t kMiB = std::size_t(1) << 20;

char* chars(void* p) { return static_cast<char*>(p); }

void jobs() {
  constexpr std::uint64_t kNone = UINT64_MAX;
  const auto limit = [](std::uint64_t process, std::uint64_t job, std::uint64_t physical) {
    return os::grant_of({process, job}, physical).limit;
  };
  check(limit(kNone, kNone, 1000) == SIZE_MAX, "no limit");
  check(limit(500, kNone, 1000) == 500, "a limit of the process");
  check(limit(kNone, 400, 1000) == 400, "a limit of the job");
  check(limit(500, 400, 1000) == 400 && limit(300, 400, 1000) == 300, "the lower of two limits");
  check(limit(1000, kNone, 1000) == SIZE_MAX, "a limit that is no less than the memory");
  check(limit(5000, kNone, 0) == 5000, "a limit where the memory is not known");
  check(os::grant_of({}, 1000).physical == 1000, "the memory of the machine");
}

void regions() {
  const os::RegionFigures before = os::region_figures();
  // At the hint, below the first.
  char* const high = chars(os::reserve(4 * kMiB, kUnit, nullptr));
  char* const low = chars(os::reserve(4 * kMiB, kUnit, high - 4 * kMiB));
  check(low == high - 4 * kMiB, "a range at its hint");
  check(os::region_figures().used == before.used + 8 * kMiB, "the ranges in use");

  // Parts of it.
  check(os::commit(low, 8 * kMiB), "a commit over two ranges");
  low[0] = low[8 * kMiB - 1] = 1;
  check(os::unmap(low + 2 * kMiB, 3 * kMiB), "the middle is given back");
  check(low[0] == 1 && low[8 * kMiB - 1] == 1, "what is around the middle stays");
  check(os::region_figures().used == before.used + 5 * kMiB, "less is in use");
  char* const middle = chars(os::map(3 * kMiB, kUnit, low + 2 * kMiB));
  check(middle == low + 2 * kMiB && middle[0] == 0 && middle[3 * kMiB - 1] == 0,
        "the middle is mapped again");

  check(os::decommit(low, 8 * kMiB), "a decommit");
  const std::size_t without = committed();
  check(os::commit(low + kMiB, 2 * kMiB) && os::commit(low, 8 * kMiB),
        "a commit of what is partly");
  check(committed() >= without + 8 * kMiB, "the pages are committed");
  check(low[0] == 0 && low[8 * kMiB - 1] == 0, "they read as zeros");
  check(os::decommit(low, kMiB) && os::protect(low, 8 * kMiB, os::Access::kNone) &&
            os::protect(low, 8 * kMiB, os::Access::kAll),
        "protection leaves out what is not committed");
  low[8 * kMiB - 1] = 2;
  check(os::unmap(low, 8 * kMiB), "all of it");

  // From one region into the next.
  std::vector<char*> parts;
  for (char* hint = nullptr; parts.size() < 40; hint = parts.back() - 8 * kMiB) {
    parts.push_back(chars(os::reserve(8 * kMiB, kUnit, hint)));
  }
  check(os::region_figures().regions > before.regions + 1, "there are several regions");
  std::size_t joined = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] + 8 * kMiB != parts[i - 1]) continue;
    ++joined;
    check(os::commit(parts[i], 16 * kMiB), "a commit over the ends of ranges");
    parts[i][0] = parts[i - 1][8 * kMiB - 1] = 3;
    check(os::decommit(parts[i], 16 * kMiB), "a decommit over the ends of ranges");
  }
  check(joined > 20, "the ranges lie side by side");
  for (char* const p : parts) check(os::unmap(p, 8 * kMiB), "a range is given back");

  void* const aligned = os::reserve(kUnit, 512 * kMiB, nullptr);
  check(reinterpret_cast<std::uintptr_t>(aligned) % (512 * kMiB) == 0, "an alignment");
  os::unmap(aligned, kUnit);
  void* const large = os::reserve(3 * 1024 * kMiB, kUnit, nullptr);
  check(large != nullptr, "more than a region");
  os::unmap(large, 3 * 1024 * kMiB);
  check(os::reserve(std::size_t(1) << 46, kUnit, nullptr) == nullptr, "half the address space");
  const os::RegionFigures after = os::region_figures();
  check(after.used == before.used, "nothing is left in use");
  check(after.reserved <= before.reserved + 64 * kMiB, "regions without use are released");
}

// Two threads that each write a word and read the other's, one with a barrier of the compiler
// alone, the other with the process barrier: not both may miss what the other has written. Without
// the process barrier they do, in some of the rounds.
void barrier() {
  check(os::enable_process_barrier(), "there is a process barrier");
  constexpr unsigned kRounds = 4000;
  struct alignas(128) Word {
    std::atomic<unsigned> value{0};
    // Where the two threads have one processor, lets the other run.
    void wait_for(unsigned expected) const {
      for (int i = 0; value.load(std::memory_order_acquire) != expected; ++i) {
        if (i > 20000) os::yield();
      }
    }
  };
  static Word first, second, round, done;
  static unsigned first_saw;
  unsigned both_missed = 0;
  // relaxed, of `first` and `second`: their order is what is tried
  std::thread other([] {
    SetThreadAffinityMask(GetCurrentThread(), 2);
    for (unsigned i = 1; i <= kRounds; ++i) {
      round.wait_for(i);
      for (unsigned spin = 0; spin < i % 64; ++spin) arch::pause();
      first.value.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      first_saw = second.value.load(std::memory_order_relaxed);
      done.value.store(i, std::memory_order_release);
    }
  });
  // Each on a processor of its own, if there are two: else there is nothing to see.
  const DWORD_PTR before = SetThreadAffinityMask(GetCurrentThread(), 1);
  for (unsigned i = 1; i <= kRounds; ++i) {
    // Written here, so that the other thread's store takes long.
    first.value.store(0, std::memory_order_relaxed);
    second.value.store(0, std::memory_order_relaxed);
    round.value.store(i, std::memory_order_seq_cst);
    for (unsigned spin = 0; spin < i / 64 % 64; ++spin) arch::pause();
    second.value.store(1, std::memory_order_relaxed);
    os::process_barrier();
    const unsigned second_saw = first.value.load(std::memory_order_relaxed);
    done.wait_for(i);
    if (first_saw == 0 && second_saw == 0) ++both_missed;
  }
  other.join();
  if (before != 0) SetThreadAffinityMask(GetCurrentThread(), before);
  check(both_missed == 0, "the process barrier");
}

// A variable that another thread sets and deletes all the time is there as a whole or not at all.
void changing_variable() {
  constexpr const char* kName = "CORBEL_TEST_CHANGES";
  static const std::string values[]{std::string(20, 'a'), std::string(1000, 'b')};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    // relaxed: nothing else is published
    for (unsigned i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      SetEnvironmentVariableA(kName, i % 3 == 2 ? nullptr : values[i % 3].c_str());
    }
  });
  unsigned found = 0, missed = 0, broken = 0;
  for (int i = 0; i < 20000 || found == 0 || missed == 0; ++i) {
    const char* const text = os::environment(kName);
    ++(text == nullptr ? missed : text == values[0] || text == values[1] ? found : broken);
  }
  stop.store(true, std::memory_order_relaxed);
  other.join();
  check(broken == 0, "a variable that changes");
}

std::string temporary_folder() {
  char path[MAX_PATH];
  GetTempPathA(sizeof path, path);
  return std::string(path) + "corbel_test_" + std::to_string(GetCurrentProcessId());
}

bool write_file(const char* path) {
  os::NewFile file(path);
  return file.write("text", 4) && file.finish();
}

bool is_there(const std::wstring& path) {
  return GetFileAttributesW(path.c_str()) != INVALID_FILE_ATTRIBUTES;
}

// The one instance of a pipe serves one connection.
void write_to_pipe() {
  const std::string name = "\\\\.\\pipe\\corbel_test_" + std::to_string(GetCurrentProcessId());
  const HANDLE pipe =
      CreateNamedPipeA(name.c_str(), PIPE_ACCESS_INBOUND, PIPE_TYPE_BYTE, 1, 100, 100, 0, nullptr);
  check(write_file(name.c_str()), "a file that is a pipe");
  char text[5] = "";
  DWORD size = 0;
  check(ReadFile(pipe, text, 4, &size, nullptr) && std::string(text) == "text", "it arrives");
  CloseHandle(pipe);
}

void files() {
  check(write_file("NUL"), "a file that is a device");
  write_to_pipe();

  const std::string folder = temporary_folder();
  const std::wstring wide(folder.begin(), folder.end());
  CreateDirectoryW(wide.c_str(), nullptr);
  check(os::NewFile(folder.c_str()).error() == EISDIR, "a file that is a folder");
  check(write_file((folder + "\\\xC3\xA4\xCE\xB1.out").c_str()), "a name in UTF-8");
  const std::wstring named = wide + L"\\\u00e4\u03b1.out";
  check(is_there(named), "the file has the name");
  check(write_file((folder + "\\\xC3\xA4\xCE\xB1.out").c_str()), "an older file is replaced");
  SetEnvironmentVariableW(L"CORBEL_TEST_NAME", named.c_str());
  const char* const variable = os::environment("CORBEL_TEST_NAME");
  check(variable == folder + "\\\xC3\xA4\xCE\xB1.out", "a variable in UTF-8");
  DeleteFileW(named.c_str());

  const std::wstring inner = L"\\\\?\\" + wide + L"\\" + std::wstring(200, L'f');
  CreateDirectoryW(inner.c_str(), nullptr);
  check(write_file((folder + "\\" + std::string(200, 'f') + "\\" + std::string(200, 'n')).c_str()),
        "a long name");
  const std::wstring last = inner + L"\\" + std::wstring(200, L'n');
  check(is_there(last), "the file has the long name");
  DeleteFileW(last.c_str());
  RemoveDirectoryW(inner.c_str());
  check(RemoveDirectoryW(wide.c_str()), "nothing else is left");
}

// A function that Windows has no entry for, though it moves the stack pointer: nothing tells where
// it was called. It leaves the address of `decoy` where a leaf's return address would be.
extern "C" void call_without_entry(void (*function)(), void (*decoy)());
asm(R"(
  .text
  .globl call_without_entry
call_without_entry:
  subq $40, %rsp
  movq %rdx, (%rsp)
  callq *%rcx
  addq $40, %rsp
  retq
)");

std::vector<std::uintptr_t> visited;

void decoy() {}

void walk() {
  visited.clear();
  os::walk_stack(
      nullptr,
      [](std::uintptr_t pc, std::uintptr_t, void*) {
        visited.push_back(pc);
        return visited.size() < 100;
      },
      nullptr);
}

void walk_ends_without_entry() {
  call_without_entry(walk, decoy);
  const auto start = reinterpret_cast<std::uintptr_t>(&call_without_entry);
  check(!visited.empty() && visited.back() - start < 20, "a walk ends where there is no entry");
  walk();
  check(visited.size() > 1, "a walk through functions with entries");
}

}  // namespace

int main() {
  jobs();
  regions();
  changing_variable();
  walk_ends_without_entry();
  files();
  barrier();
  return result();
}
