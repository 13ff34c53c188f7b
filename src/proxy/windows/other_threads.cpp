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

enum class State { kStopped, kNotStarted, kEnded };

struct Other {
  HANDLE thread;
  std::uintptr_t next_instruction;  // 0: not known
  DWORD id;                         // no other thread's while the handle is open
  State state;
};
Other known[kMaxThreads];  // to the one OtherThreads: the caller holds the RuntimesLock

// THREAD_BASIC_INFORMATION, which not all headers have.
struct ThreadFacts {
  LONG exit_status;
  void* block;  // the thread's environment block
  HANDLE ids[2];
  std::uintptr_t affinity;
  LONG priorities[2];
};

// In Wine a thread that has been stopped while it creates another leaves that without a block, and
// a wait for it to stop would never end.
bool has_started(HANDLE thread) {
  constexpr auto kFacts = static_cast<THREADINFOCLASS>(0);  // ThreadBasicInformation
  ThreadFacts facts;
  return NtQueryInformationThread(thread, kFacts, &facts, sizeof facts, nullptr) < 0 ||
         facts.block != nullptr;
}

// SuspendThread returns before the thread has stopped, and until then it may start another;
// GetThreadContext waits.
State stop(HANDLE thread, std::uintptr_t* next_instruction) {
  if (SuspendThread(thread) == DWORD(-1)) return State::kEnded;
  if (!has_started(thread)) return State::kNotStarted;
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  *next_instruction = GetThreadContext(thread, &context) ? std::uintptr_t(context.Rip) : 0;
  return State::kStopped;
}

}  // namespace

// A thread that is stopped starts no other, but one that ends before it can be stopped may have
// started one that came too late for the round. So when a round finds no new thread, not even one
// that has ended, there is none.
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
  const std::size_t before = count_;
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
    for (std::size_t i = 0; i < before && is_new; ++i) is_new = known[i].id != id;
    if (!is_new) continue;
    if (count_ == kMaxThreads) {
      CloseHandle(next);
      return false;
    }
    Other& other = known[count_++];
    other = {next, 0, id, State::kEnded};
    other.state = proxy::stop(next, &other.next_instruction);
    keep_last = true;
  }
}

bool OtherThreads::next_instruction(std::size_t i, std::uintptr_t* next) {
  *next = known[i].next_instruction;
  return known[i].state != State::kStopped || *next != 0;
}

void OtherThreads::let_go() {
  while (count_ > 0) {
    const Other& other = known[--count_];
    if (other.state != State::kEnded) ResumeThread(other.thread);
    CloseHandle(other.thread);
  }
}

}  // namespace corbel::proxy
