// SPDX-License-Identifier: Apache-2.0
// What the test programs check, and whether all of it was right.
#pragma once

#include <windows.h>

#include <atomic>
#include <cstdio>

inline std::atomic<int> failures{0};

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

// The exit code.
inline int report() {
  std::puts(failures == 0 ? "right" : "wrong");
  std::fflush(stdout);
  return failures == 0 ? 0 : 1;
}

// From here on a crash says what happened, and where in which module.
inline void report_crashes() {
  SetUnhandledExceptionFilter([](EXCEPTION_POINTERS* what) -> LONG {
    const EXCEPTION_RECORD& record = *what->ExceptionRecord;
    const auto* const at = static_cast<const char*>(record.ExceptionAddress);
    char name[MAX_PATH] = "no module";
    HMODULE module = nullptr;
    GetModuleHandleExA(
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, at,
        &module);
    if (module != nullptr) GetModuleFileNameA(module, name, sizeof(name));
    std::fprintf(stderr, "crash: exception %#lx at %p, %#llx bytes into %s; access to %#llx\n",
                 record.ExceptionCode, record.ExceptionAddress,
                 static_cast<unsigned long long>(at - reinterpret_cast<const char*>(module)), name,
                 static_cast<unsigned long long>(
                     record.NumberParameters > 1 ? record.ExceptionInformation[1] : 0));
    std::fflush(stderr);
    return EXCEPTION_EXECUTE_HANDLER;
  });
}
