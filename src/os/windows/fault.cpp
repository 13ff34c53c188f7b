// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "os/windows/api.hpp"

namespace corbel::os {
namespace {

void (*handle_fault)(const Fault&) = nullptr;

LONG CALLBACK on_exception(EXCEPTION_POINTERS* exception) {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record.NumberParameters >= 2) {
    const ULONG_PTR how = record.ExceptionInformation[0];
    handle_fault({reinterpret_cast<const void*>(record.ExceptionInformation[1]),
                  how == 0   ? Fault::Kind::kRead
                  : how == 1 ? Fault::Kind::kWrite
                             : Fault::Kind::kUnknown,
                  exception->ContextRecord});
  }
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

bool on_fault(void (*handler)(const Fault& fault)) {
  LastErrorGuard guard;
  handle_fault = handler;
  return AddVectoredExceptionHandler(1, on_exception) != nullptr;
}

}  // namespace corbel::os
