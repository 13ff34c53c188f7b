// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/other_threads.hpp"

#include "os/windows/api.hpp"
// After windows.h.
#include <winternl.h>

extern "C" __declspec(dllimport) LONG NTAPI NtGetNextThread(HANDLE process, HANDLE after,
                                                            ACCESS_MASK access, ULONG attributes,
                                                            ULONG flags, HANDLE* next);

namespace corbel::proxy {
namespace {

constexpr std::size_t kMaxThreads = 4096;
constexpr ACCESS_MASK kAccess =
    THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_LIMITED_INFORMATION;

constexpr LONG kNoMoreEntries = LONG(0x8000001a);  // STATUS_NO_MORE_ENTRIES

struct Stopped {
  HANDLE thread;
  std::uintptr_t next_instruction;  // 0: the system does not tell
  DWORD id;
};
Stopped stopped[kMaxThreads];  // of the one OtherThreads: the caller holds the RuntimesLock

// THREAD_BASIC_INFORMATION, which not all headers have.
struct ThreadFacts {
  LONG exit_status;
  void* teb;
  HANDLE ids[2];
  std::uintptr_t affinity;
  LONG priorities[2];
};

bool find_facts(HANDLE thread, ThreadFacts* facts) {
  constexpr auto kBasicInformation = static_cast<THREADINFOCLASS>(0);
  return NtQueryInformationThread(thread, kBasicInformation, facts, sizeof *facts, nullptr) >= 0;
}

// In Wine, a thread that is stopped while it creates another may leave the new one without a TEB.
// The new one does not run, and a wait for it to stop would never end.
bool has_started(HANDLE thread) {
  ThreadFacts facts;
  return !find_facts(thread, &facts) || facts.teb != nullptr;
}

bool has_ended(HANDLE thread) {
  constexpr LONG kPending = 0x103;  // STATUS_PENDING
  ThreadFacts facts;
  return find_facts(thread, &facts) && facts.exit_status != kPending;
}

// False if it is known to have ended. SuspendThread returns before the thread has stopped, and
// until then it may start another; GetThreadContext waits.
bool stop(HANDLE thread, std::uintptr_t* next_instruction) {
  constexpr std::uintptr_t kNowhere = ~std::uintptr_t(0);
  if (SuspendThread(thread) == DWORD(-1)) return false;
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  if (!has_started(thread)) {
    *next_instruction = kNowhere;
  } else if (GetThreadContext(thread, &context)) {
    *next_instruction = std::uintptr_t(context.Rip);
  } else {
    *next_instruction = 0;
    return !has_ended(thread);
  }
  return true;
}

}  // namespace

// A thread that is stopped starts no other, and the system lists new threads last: after those that
// started them, even if these have ended. So when a round finds nothing to stop, all have stopped.
bool OtherThreads::stop() {
  for (;;) {
    const std::size_t before = count_;
    if (!stop_new()) {
      let_go();
      return false;
    }
    if (count_ == before) return true;
  }
}

bool OtherThreads::stop_new() {
  const DWORD own = GetCurrentThreadId();
  const std::size_t known = count_;
  HANDLE last = nullptr;
  bool keep_last = false;
  for (;;) {
    HANDLE next;
    const LONG status = NtGetNextThread(GetCurrentProcess(), last, kAccess, 0, 0, &next);
    if (last != nullptr && !keep_last) CloseHandle(last);
    if (status == kNoMoreEntries) return true;
    if (status < 0) return false;
    last = next;
    keep_last = false;
    const DWORD id = GetThreadId(next);
    bool is_new = id != own;
    for (std::size_t i = 0; i < known && is_new; ++i) is_new = stopped[i].id != id;
    if (!is_new) continue;
    std::uintptr_t next_instruction;
    if (!proxy::stop(next, &next_instruction)) continue;
    if (count_ == kMaxThreads) {
      ResumeThread(next);
      CloseHandle(next);
      return false;
    }
    stopped[count_++] = {next, next_instruction, id};
    keep_last = true;
  }
}

std::uintptr_t OtherThreads::next_instruction(std::size_t i) { return stopped[i].next_instruction; }

void OtherThreads::let_go() {
  while (count_ > 0) {
    const HANDLE thread = stopped[--count_].thread;
    ResumeThread(thread);
    CloseHandle(thread);
  }
}

}  // namespace corbel::proxy
