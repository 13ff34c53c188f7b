// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

// Units of 100 ns.
std::uint64_t number_of(const FILETIME& t) {
  return std::uint64_t(t.dwHighDateTime) << 32 | t.dwLowDateTime;
}

std::uint64_t used_ns(const FILETIME& kernel, const FILETIME& user) {
  return 100 * (number_of(kernel) + number_of(user));
}

std::uint64_t thread_time_of(HANDLE thread) {
  FILETIME made, ended, kernel, user;
  return GetThreadTimes(thread, &made, &ended, &kernel, &user) ? used_ns(kernel, user) : 0;
}

}  // namespace

std::uint64_t now_ms() { return GetTickCount64(); }

std::uint64_t now_ns() {
  LARGE_INTEGER frequency, count;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&count);
  const auto f = std::uint64_t(frequency.QuadPart), c = std::uint64_t(count.QuadPart);
  return c / f * 1'000'000'000 + c % f * 1'000'000'000 / f;
}

std::uint64_t wall_ns() {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  constexpr std::uint64_t kFrom1601To1970 = 116'444'736'000'000'000;
  return 100 * (number_of(now) - kFrom1601To1970);
}

std::uint64_t own_time_ns() {
  LastErrorGuard guard;
  return thread_time_of(GetCurrentThread());
}

std::uint64_t process_time_ns() {
  LastErrorGuard guard;
  FILETIME made, ended, kernel, user;
  return GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user) ? used_ns(kernel, user)
                                                                             : 0;
}

std::uint64_t thread_time_ns(std::uint32_t thread) {
  LastErrorGuard guard;
  const HANDLE handle = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, thread);
  if (handle == nullptr) return 0;
  const std::uint64_t time = thread_time_of(handle);
  CloseHandle(handle);
  return time;
}

}  // namespace corbel::os
