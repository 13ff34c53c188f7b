// SPDX-License-Identifier: Apache-2.0
// Replaces the functions of the libraries that are there when this one is loaded, and of those that
// are loaded later. This library stays until the process ends, since their functions jump here; at
// the end it leaves them as they are, for the libraries that end after it.
#include "os/windows/api.hpp"
#include "proxy/windows/modules.hpp"
#include "proxy/windows/replace.hpp"
// After windows.h.
#include <winternl.h>

extern "C" {
// Headers and linkers refer to these names to have the library loaded. By the first, which has the
// ordinal 1, a program that knows nothing of it can be made to import it.
void __TBB_malloc_proxy() {}
void corbel_malloc_proxy() {}
}

namespace corbel::proxy {
namespace {

#if defined(CORBEL_STATIC)
// A section of this name tells the corbel command that a program contains the replacement.
__attribute__((section(".corbel"), used)) const char mark[] = "malloc";
#endif

struct LoadedModule {
  ULONG flags;
  const UNICODE_STRING* path;
  const UNICODE_STRING* name;
  void* base;
  ULONG size;
};
constexpr ULONG kLoaded = 1;

// The library's code has not run yet. The system holds locks of the loader, from Windows 8 on not
// always the one that LoaderLock takes: no function of the loader is called here.
void CALLBACK on_module(ULONG reason, const LoadedModule* module, void*) {
  const ModuleName name(module->name->Buffer, module->name->Length);
  if (!is_runtime_name(name.text())) return;
  os::LastErrorGuard guard;
  RuntimesLock lock;
  if (reason == kLoaded) {
    replace_functions(Image(module->base), name.text(), Threads::kNone);
  } else {
    forget(module->base);
  }
}

// The loader's lock is held while a DLL's constructors run, but not while a program's do.
__attribute__((constructor)) void start() {
#if defined(CORBEL_STATIC)
  asm volatile("" ::"r"(mark));  // so that linkers keep it
#endif
  os::LastErrorGuard guard;
  LoaderLock loader_lock;
  HMODULE self;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<const char*>(&start), &self);
  using Register = LONG NTAPI(ULONG flags, decltype(&on_module), void* context, void** cookie);
  auto* const tell = os::find_function<Register>("ntdll.dll", "LdrRegisterDllNotification");
  void* cookie;
  if (tell != nullptr) tell(0, on_module, nullptr, &cookie);
  RuntimesLock lock;
  for_each_module([](const Image& image, const char* name) {
    if (is_runtime_name(name)) replace_functions(image, name, Threads::kMaybe);
  });
}

}  // namespace
}  // namespace corbel::proxy
