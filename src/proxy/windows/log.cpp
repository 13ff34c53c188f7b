// SPDX-License-Identifier: Apache-2.0
// TBB_malloc_replacement_log: a line for each function of each library, in TBB's form:
//
//   Success: free (ucrtbase.dll), byte pattern: <C7442410000000008B4424>
//   Fail: _expand (msvcr100.dll), byte pattern: <33C0C3CCCCCCCCCCCCCCCC>: replaced for other
//       libraries alone, since it is shorter than a jump
//   Fail: _aligned_free (msvcr100.dll), byte pattern: <4885C974054883E9080FB6>: not replaced,
//       because _aligned_malloc, of the same family, cannot be
//
// The pattern is what the function began with. A function that is replaced for other libraries
// alone, in their tables of imports, counts as Fail: the library's own calls reach the original.
#include <corbel/malloc_proxy.h>
#include <string.h>

#include "base/text.hpp"
#include "os/windows/api.hpp"
#include "proxy/windows/code_area.hpp"
#include "proxy/windows/image.hpp"
#include "proxy/windows/modules.hpp"
#include "proxy/windows/replace.hpp"

namespace corbel::proxy {
namespace {

// The log, once written, stays: there is a new one if something has changed since.
struct Log {
  char** lines;
  std::size_t count;
  std::size_t size;
  int verdict;
};
Log last;  // changed under the lock of the runtimes

// Whole lines as far as there is memory for them; without memory it only counts.
class Writer : public TextBuilder<Writer> {
 public:
  Writer() = default;
  Writer(char** lines, std::size_t most_lines, char* text, std::size_t most_text)
      : lines_(lines), most_lines_(most_lines), text_(text), most_text_(most_text) {}

  void begin_line() { end_ = size_; }
  void end_line() {
    put('\0');
    if (lines_ != nullptr) {
      if (count_ == most_lines_ || end_ > most_text_) return;
      lines_[count_] = text_ + size_;
    }
    size_ = end_;
    ++count_;
  }
  void put(char c) {
    if (end_ < most_text_) text_[end_] = c;
    ++end_;
  }
  std::size_t size() const { return size_; }
  std::size_t count() const { return count_; }

 private:
  char** lines_ = nullptr;
  std::size_t most_lines_ = 0;
  char* text_ = nullptr;
  std::size_t most_text_ = 0;
  std::size_t size_ = 0;  // of the whole lines
  std::size_t end_ = 0;   // of what has been put
  std::size_t count_ = 0;
};

// The first function of the family that cannot be replaced at its entry; nullptr if there is none.
const char* refused_of(const Runtime& runtime, Family family) {
  for (unsigned i = 0; i < kFunctionCount; ++i) {
    const char* const why = runtime.reason[i];
    if (kFunctionInfo[i].family != family || why == nullptr || why == kTablesStay) continue;
    return kFunctionInfo[i].name;
  }
  return nullptr;
}

void add_reason(Writer& text, const Runtime& runtime, unsigned i) {
  if (const char* const why = runtime.reason[i]; why != nullptr) {
    text.add(why);
    return;
  }
  // Of another family: since no function of the library is replaced at its entry.
  const bool is_left = runtime.outcome[i] == Outcome::kRefused;
  const Family family = is_left ? kFunctionInfo[i].family : Family::kPlain;
  const char* const other = refused_of(runtime, family);
  if (is_left) {
    text.add("not replaced, because ").add(other).add(", of the same family, cannot be");
  } else {
    text.add("another function, ").add(other).add(", cannot be replaced at its entry");
  }
}

void add_function(Writer& text, const Runtime& runtime, unsigned i) {
  text.begin_line();
  text.add(runtime.outcome[i] == Outcome::kReplaced ? "Success: " : "Fail: ");
  text.add(kFunctionInfo[i].name).add(" (").add(runtime.name).add("), byte pattern: <");
  for (const unsigned char byte : runtime.entry[i]) {
    text.put("0123456789ABCDEF"[byte >> 4]);
    text.put("0123456789ABCDEF"[byte & 15]);
  }
  text.add(">");
  if (runtime.outcome[i] == Outcome::kInTables) {
    text.add(": replaced for other libraries alone, since ");
  } else if (runtime.outcome[i] == Outcome::kRefused) {
    text.add(": ");
  }
  if (runtime.outcome[i] != Outcome::kReplaced) add_reason(text, runtime, i);
  text.end_line();
}

// Whether the program imports something of a library whose functions are replaced. A program that
// is linked with a static C library doesn't, and its malloc can't be found.
bool uses_a_runtime(const Image& program) {
  bool uses = false;
  program.for_each_import([&uses](const void** word) {
    for (const Runtime& runtime : runtimes) {
      uses = uses || (runtime.base != nullptr && (Image(runtime.base).contains(*word) ||
                                                  CodeArea::contains(runtime.code, *word)));
    }
  });
  return uses;
}

int write(Writer& text) {
  bool all = true;
  bool any = false;
  for (const Runtime& runtime : runtimes) {
    if (runtime.base == nullptr) continue;
    for (unsigned i = 0; i < kFunctionCount; ++i) {
      if (runtime.outcome[i] == Outcome::kAbsent) continue;
      add_function(text, runtime, i);
      all = all && runtime.outcome[i] == Outcome::kReplaced;
      any = true;
    }
  }
  bool is_program = true;
  for_each_module([&](const Image& module, const char* name) {
    const char* const problem =
        is_left_out(module, name) ? "there are too many C libraries"
        : is_program && !uses_a_runtime(module)
            ? "the program uses no C library that can be replaced; it may contain one"
            : nullptr;
    is_program = false;
    if (problem == nullptr) return;
    text.begin_line();
    text.add("Fail: malloc (").add(name).add("): ").add(problem);
    text.end_line();
    all = false;
  });
  return all && any ? 0 : -1;
}

}  // namespace
}  // namespace corbel::proxy

extern "C" int TBB_malloc_replacement_log(char*** log) {
  using namespace corbel::proxy;
  corbel::os::LastErrorGuard guard;
  LoaderLock loader_lock;
  RuntimesLock lock;
  // Another thread may map a library in between: then lines are left out.
  Writer measured;
  write(measured);
  const std::size_t table = (measured.count() + 1) * sizeof(char*);
  const std::size_t size = table + measured.size();
  // Not of the heap, whose blocks may be looked through for leaks.
  void* const memory = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (memory == nullptr) {
    if (log != nullptr) *log = last.lines;
    return last.lines != nullptr ? last.verdict : -1;
  }
  auto* const lines = static_cast<char**>(memory);
  char* const text = static_cast<char*>(memory) + table;
  Writer writer(lines, measured.count(), text, measured.size());
  const int verdict = write(writer);
  lines[writer.count()] = nullptr;
  if (last.lines != nullptr && last.count == writer.count() && last.size == writer.size() &&
      last.verdict == verdict && memcmp(last.lines[0], text, last.size) == 0) {
    VirtualFree(memory, 0, MEM_RELEASE);
  } else {
    last = {lines, writer.count(), writer.size(), verdict};
  }
  if (log != nullptr) *log = last.lines;
  return last.verdict;
}
