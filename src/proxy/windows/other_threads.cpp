// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/other_threads.hpp"

#include "os/windows/api.hpp"

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
  DWORD id;
};
Stopped stopped[kMaxThreads];  // of the one OtherThreads: the caller holds the RuntimesLock

}  // namespace

// A thread that is stopped starts no other. So when a round finds no new one, there is none.
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
    if (count_ == kMaxThreads) {
      CloseHandle(next);
      return false;
    }
    if (SuspendThread(next) == DWORD(-1)) continue;  // it has ended
    stopped[count_++] = {next, id};
    keep_last = true;
  }
}

// Waits until the thread has stopped indeed, which SuspendThread does not.
std::uintptr_t OtherThreads::next_instruction(std::size_t i) {
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  return GetThreadContext(stopped[i].thread, &context) ? std::uintptr_t(context.Rip) : 0;
}

void OtherThreads::let_go() {
  while (count_ > 0) {
    const HANDLE thread = stopped[--count_].thread;
    ResumeThread(thread);
    CloseHandle(thread);
  }
}

}  // namespace corbel::proxy
