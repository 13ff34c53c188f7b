// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

extern "C" LONG NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access,
                                      ULONG attributes, ULONG flags, HANDLE* next);

namespace corbel::os {
namespace {

// The process's threads are listed from the oldest on. 0: the system does not tell.
std::uint32_t oldest_thread() {
  HANDLE first = nullptr;
  if (NtGetNextThread(GetCurrentProcess(), nullptr, THREAD_QUERY_LIMITED_INFORMATION, 0, 0,
                      &first) < 0) {
    return 0;
  }
  const std::uint32_t id = GetThreadId(first);
  CloseHandle(first);
  return id;
}

// The thread_id() of the thread that start_thread() has started. relaxed: a hint
constinit std::atomic<std::uint32_t> own_thread_id{0};

DWORD WINAPI run_own_thread(void* run) {
  own_thread_id.store(GetCurrentThreadId(), std::memory_order_relaxed);  // relaxed: a hint
  reinterpret_cast<void (*)()>(run)();
  own_thread_id.store(0, std::memory_order_relaxed);  // relaxed: a hint
  return 0;
}

// A function with one argument and one result is called in the same way whatever their types are.
HANDLE make_thread(std::size_t stack_size, LPTHREAD_START_ROUTINE run, void* argument, DWORD* id) {
  return CreateThread(nullptr, stack_size, run, argument,
                      stack_size != 0 ? STACK_SIZE_PARAM_IS_A_RESERVATION : 0, id);
}

void name(HANDLE thread, const char* text) {
  // Since Windows 10, version 1607.
  using SetDescription = HRESULT WINAPI(HANDLE, const wchar_t*);
  auto* const set = find_function<SetDescription>("kernelbase.dll", "SetThreadDescription");
  if (set == nullptr) return;
  wchar_t wide[16];
  std::size_t i = 0;
  for (; i < 15 && text[i] != '\0'; ++i) wide[i] = wchar_t(static_cast<unsigned char>(text[i]));
  wide[i] = L'\0';
  set(thread, wide);
}

}  // namespace

std::uint32_t thread_id() { return GetCurrentThreadId(); }

bool is_main_thread(std::uint32_t thread) {
  static constinit std::atomic<std::uint32_t> main{0};
  // relaxed: each thread that asks the system gets the same answer
  std::uint32_t id = main.load(std::memory_order_relaxed);
  if (id == 0) {
    LastErrorGuard guard;
    id = oldest_thread();
    main.store(id, std::memory_order_relaxed);  // relaxed: see above
  }
  return thread == id;
}

bool has_thread(std::uint32_t thread) {
  LastErrorGuard guard;
  const HANDLE handle = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, thread);
  if (handle == nullptr) return false;
  const bool is_own = GetProcessIdOfThread(handle) == GetCurrentProcessId();
  CloseHandle(handle);
  return is_own;
}

bool start_thread(const char* thread_name, void (*run)()) {
  LastErrorGuard guard;
  const HANDLE thread = make_thread(0, run_own_thread, reinterpret_cast<void*>(run), nullptr);
  if (thread == nullptr) return false;
  name(thread, thread_name);
  CloseHandle(thread);
  return true;
}

bool is_own_thread(std::uint32_t thread) {
  return own_thread_id.load(std::memory_order_relaxed) == thread;  // relaxed: a hint
}

bool start_detached(std::size_t stack_size, void* (*run)(void*), void* argument, TakesSignals) {
  LastErrorGuard guard;
  const HANDLE thread = make_thread(
      stack_size, reinterpret_cast<LPTHREAD_START_ROUTINE>(reinterpret_cast<void*>(run)), argument,
      nullptr);
  if (thread != nullptr) CloseHandle(thread);
  return thread != nullptr;
}

bool start_unlisted(std::size_t stack_size, int (*run)(void*)) {
  LastErrorGuard guard;
  const HANDLE thread = make_thread(
      stack_size, reinterpret_cast<LPTHREAD_START_ROUTINE>(reinterpret_cast<void*>(run)), nullptr,
      nullptr);
  if (thread != nullptr) CloseHandle(thread);
  return thread != nullptr;
}

StackRange own_stack() {
  ULONG_PTR low = 0, high = 0;
  GetCurrentThreadStackLimits(&low, &high);
  return {low, high};
}

std::size_t default_stack_size() {
  LastErrorGuard guard;
  const auto* const program = reinterpret_cast<const char*>(GetModuleHandleA(nullptr));
  const auto* const dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(program);
  const auto* const header = reinterpret_cast<const IMAGE_NT_HEADERS64*>(program + dos->e_lfanew);
  return std::size_t(header->OptionalHeader.SizeOfStackReserve);
}

void name_thread(const char* text) {
  LastErrorGuard guard;
  name(GetCurrentThread(), text);
}

// There is no fork.
void at_fork(void (*)(), void (*)(), void (*)()) {}

}  // namespace corbel::os
