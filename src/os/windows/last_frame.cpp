// SPDX-License-Identifier: Apache-2.0
// A frame that ends the search for a C++ exception's handler. On 64-bit Windows a function without
// unwind data is taken for one without a frame, so that leaving the data out would lead the search
// astray. This one has a handler instead, which does not return then.
#include "os/os.hpp"
#include "os/windows/api.hpp"

extern "C" {
__attribute__((used)) EXCEPTION_DISPOSITION corbel_end_search(EXCEPTION_RECORD* record, void*,
                                                              CONTEXT*, void*) {
  // What libgcc and LLVM's libunwind raise for a throw, and what Microsoft's C++ library raises.
  // Anything else, as an access violation, is for the program's handlers or a debugger.
  constexpr DWORD kGnuThrow = 0x20474343;
  constexpr DWORD kMicrosoftThrow = 0xE06D7363;
  if (record->ExceptionCode != kGnuThrow && record->ExceptionCode != kMicrosoftThrow) {
    return ExceptionContinueSearch;
  }
  static constexpr char kText[] = "corbel: an exception left the callback of a limit\n";
  corbel::os::write_error(kText, sizeof kText - 1);
  corbel::os::abort();
}
}

asm(R"(
  .text
  .balign 16
  .globl corbel_call_last
  .def corbel_call_last; .scl 2; .type 32; .endef
  .seh_proc corbel_call_last
corbel_call_last:
  subq $40, %rsp
  .seh_stackalloc 40
  .seh_endprologue
  movq %rcx, %rax
  movq %rdx, %rcx
  movq %r8, %rdx
  callq *%rax
  nop
  addq $40, %rsp
  retq
  .seh_handler corbel_end_search, @except
  .seh_endproc
)");

extern "C" int corbel_call_last(int (*function)(void*, std::size_t), void* first,
                                std::size_t second);

namespace corbel::os {

int call_without_exceptions(int (*function)(void*, std::size_t), void* first, std::size_t second) {
  return corbel_call_last(function, first, second);
}

}  // namespace corbel::os
