// SPDX-License-Identifier: Apache-2.0
#include "unwind_test.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <cstring>

namespace unwind_test {

namespace {

struct Case {
  const char* name;
  void (*run)();
};

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

int failures = 0;

}  // namespace

Registered::Registered(const char* name, void (*run)()) { cases().push_back({name, run}); }

void check(bool holds, const char* condition, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::printf("%s:%d: not true: %s\n", file, line, condition);
}

bool is_in(void* frame, const void* function) {
  return _Unwind_FindEnclosingFunction(static_cast<char*>(frame) - 1) == function;
}

Frames stack_here() {
  constexpr unsigned kMax = 1000;
  Frames frames(kMax);
  frames.resize(corbel::unwind::capture(frames.data(), kMax, 1));
  return frames;
}

Frames stack_by_libgcc() {
  Frames frames;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        int exact = 0;
        auto* const pc = reinterpret_cast<char*>(_Unwind_GetIPInfo(context, &exact));
        if (pc != nullptr) static_cast<Frames*>(argument)->push_back(pc + exact);
        return _URC_NO_REASON;
      },
      &frames);
  frames.erase(frames.begin());  // this function
  return frames;
}

void print(const char* title, const Frames& frames) {
  std::printf("%s:\n", title);
  for (void* frame : frames) {
    Dl_info info{};
    dladdr(static_cast<char*>(frame) - 1, &info);
    std::printf("  %p %s %s\n", frame, info.dli_fname != nullptr ? info.dli_fname : "?",
                info.dli_sname != nullptr ? info.dli_sname : "?");
  }
}

int main(int argc, char** argv) {
  unsigned run = 0;
  unsigned skipped = 0;
  for (const Case& each : cases()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], each.name) == 0;
    if (!wanted) continue;
    ++run;
    const int before = failures;
    const char* why = nullptr;
    try {
      each.run();
    } catch (const Skip& skip) {
      why = skip.why;
      ++skipped;
    }
    if (why != nullptr)
      std::printf("skipped %s: %s\n", each.name, why);
    else
      std::printf("%s %s\n", failures == before ? "passed " : "FAILED ", each.name);
    std::fflush(stdout);
  }
  constexpr int kSkipped = 77;
  if (failures == 0 && run == skipped) return kSkipped;
  return failures == 0 ? 0 : 1;
}

}  // namespace unwind_test

int main(int argc, char** argv) { return unwind_test::main(argc, argv); }
