// SPDX-License-Identifier: Apache-2.0
// For a library that has no C runtime of its own: what the runtime's start code does. Such a
// library gets along with any runtime of the program, and can be there before one is.
#include "os/windows/api.hpp"

// ---- constructors and destructors ---------------------------------------------------------------
// Defined by the linker: functions between a first word and a zero, the one to be called first at
// the end.
extern "C" {
using Function = void (*)();
extern Function __CTOR_LIST__[];
extern Function __DTOR_LIST__[];

BOOL WINAPI DllMainCRTStartup(HINSTANCE, DWORD reason, void*);
}

namespace {

void run_constructors() {
  unsigned count = 0;
  while (__CTOR_LIST__[count + 1] != nullptr) ++count;
  for (; count > 0; --count) __CTOR_LIST__[count]();
}

void run_destructors() {
  for (Function* f = __DTOR_LIST__ + 1; *f != nullptr; ++f) (*f)();
}

}  // namespace

BOOL WINAPI DllMainCRTStartup(HINSTANCE, DWORD reason, void*) {
  if (reason == DLL_PROCESS_ATTACH) run_constructors();
  if (reason == DLL_PROCESS_DETACH) run_destructors();
  return TRUE;
}

// ---- thread-local variables ---------------------------------------------------------------------
// The TLS directory (Microsoft PE/COFF specification, 5.7), which the linker finds by its name. The
// sections' contents are put in the order of what follows the dollar sign.
extern "C" {
unsigned _tls_index = 0;
__attribute__((section(".tls"), used)) char* _tls_start = nullptr;
__attribute__((section(".tls$ZZZ"), used)) char* _tls_end = nullptr;

__attribute__((section(".CRT$XLA"), used)) PIMAGE_TLS_CALLBACK __xl_a = nullptr;
__attribute__((section(".CRT$XLZ"), used)) PIMAGE_TLS_CALLBACK __xl_z = nullptr;

extern const IMAGE_TLS_DIRECTORY64 _tls_used;
__attribute__((section(".rdata$T"), used))
const IMAGE_TLS_DIRECTORY64 _tls_used = {reinterpret_cast<ULONGLONG>(&_tls_start),
                                         reinterpret_cast<ULONGLONG>(&_tls_end),
                                         reinterpret_cast<ULONGLONG>(&_tls_index),
                                         reinterpret_cast<ULONGLONG>(&__xl_a + 1),
                                         0,
                                         0};
}
