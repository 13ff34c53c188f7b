// SPDX-License-Identifier: Apache-2.0
// Another name for a library in the loader's list, while an object lives: as if another thread had
// just loaded one of that name.
#pragma once

#include <windows.h>
// After windows.h.
#include <winternl.h>

#include <string>

class ListedName {
 public:
  ListedName(HMODULE module, std::wstring name) : text_(std::move(name)) {
    LIST_ENTRY* const head = &NtCurrentTeb()->ProcessEnvironmentBlock->Ldr->InMemoryOrderModuleList;
    for (LIST_ENTRY* at = head->Flink; at != head; at = at->Flink) {
      auto* const entry = CONTAINING_RECORD(at, LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks);
      // winternl.h leaves out the short name, which follows the long one.
      if (entry->DllBase == module) listed_ = &entry->FullDllName + 1;
    }
    if (listed_ == nullptr) return;
    before_ = *listed_;
    listed_->Buffer = text_.data();
    listed_->Length = static_cast<USHORT>(text_.size() * sizeof(wchar_t));
  }
  ~ListedName() {
    if (listed_ != nullptr) *listed_ = before_;
  }
  ListedName(const ListedName&) = delete;
  ListedName& operator=(const ListedName&) = delete;

 private:
  std::wstring text_;
  UNICODE_STRING* listed_ = nullptr;
  UNICODE_STRING before_{};
};
