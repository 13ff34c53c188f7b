// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/modules.hpp"

#include "arch/arch.hpp"
#include "os/windows/api.hpp"
// After windows.h.
#include <winternl.h>

namespace corbel::proxy {
namespace {

// The part of LDR_DATA_TABLE_ENTRY that has not changed since the first 64-bit Windows; winternl.h
// leaves out the short name.
struct Entry {
  LIST_ENTRY in_load_order;
  LIST_ENTRY in_memory_order;
  LIST_ENTRY in_initialisation_order;
  void* base;
  void* entry_point;
  ULONG size;
  UNICODE_STRING path;
  UNICODE_STRING name;
};
struct LoaderData {
  ULONG length;
  ULONG initialised;
  void* handle;
  LIST_ENTRY in_load_order;
};

}  // namespace

ModuleName::ModuleName(const wchar_t* name, std::size_t bytes) {
  std::size_t length = 0;
  for (; length < bytes / sizeof *name && length + 1 < sizeof text_; ++length) {
    text_[length] = name[length] < 128 ? char(name[length]) : '?';
  }
  text_[length] = '\0';
}

int strncmp_lower(const char* text, const char* lower, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? char(text[i] + ('a' - 'A')) : text[i];
    if (c != lower[i] || c == '\0') return c - lower[i];
  }
  return 0;
}

LoaderLock::LoaderLock() {
  using Lock = LONG NTAPI(ULONG flags, ULONG * disposition, std::uintptr_t* cookie);
  if (auto* const lock = os::find_function<Lock>("ntdll.dll", "LdrLockLoaderLock")) {
    lock(0, nullptr, &cookie_);
  }
}

LoaderLock::~LoaderLock() {
  using Unlock = LONG NTAPI(ULONG flags, std::uintptr_t cookie);
  if (auto* const unlock = os::find_function<Unlock>("ntdll.dll", "LdrUnlockLoaderLock")) {
    unlock(0, cookie_);
  }
}

void visit_modules(VisitModule visit, void* context) {
  const auto* const thread = reinterpret_cast<const TEB*>(arch::thread_pointer());
  const PEB* const process = thread->ProcessEnvironmentBlock;
  const auto* const data = reinterpret_cast<const LoaderData*>(process->Ldr);
  const LIST_ENTRY* const head = &data->in_load_order;
  for (const LIST_ENTRY* at = head->Flink; at != head; at = at->Flink) {
    const auto* const entry = reinterpret_cast<const Entry*>(at);
    const ModuleName name(entry->name.Buffer, entry->name.Length);
    const Image image(entry->base);
    if (image.size() != 0) visit(context, image, name.text());
  }
}

}  // namespace corbel::proxy
