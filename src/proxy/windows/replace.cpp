// SPDX-License-Identifier: Apache-2.0
// A function is replaced at its entry: its first five bytes become a jump to a longer jump nearby,
// which leads to the replacement. So it is replaced for all callers, those in its own library too.
//
// Why other threads may run meanwhile. The five bytes lie in one aligned word of eight, which is
// written at once: a processor that fetches them finds the old instructions or the new one (Intel
// SDM, volume 3, 9.1.1 on aligned accesses; 9.1.3 leaves to a processor when it finds the new one,
// and demands that the thread that changed code executes a serialising instruction only of those
// that must find it). But a thread may have executed the first of the old instructions, and not yet
// the others, and would go on in the middle of the jump. That can't happen in a library that is
// just being loaded, whose code has not run. Otherwise the other threads are stopped, and let go
// again and again until it is known that none stands there. A return address can't point there: a
// call that ends there is refused (move_entry.hpp).
#include "proxy/windows/replace.hpp"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>

#include "base/bits.hpp"
#include "os/windows/api.hpp"
#include "proxy/windows/code_area.hpp"
#include "proxy/windows/modules.hpp"
#include "proxy/windows/move_entry.hpp"
#include "proxy/windows/other_threads.hpp"

namespace corbel::proxy {
namespace {

SRWLOCK lock = SRWLOCK_INIT;

constexpr std::size_t kLongJump = 14;
constexpr std::size_t kMaxScanned = 4096;
// To find the others outside the entries. The first ones follow at once; a thread that stands there
// waits for its turn, which may take a few times 10 ms.
constexpr int kMaxTries = 200;
constexpr int kQuickTries = 20;

struct Change {
  unsigned function;
  unsigned char* entry;
  std::uint64_t word;  // what the aligned word with the entry becomes
  DWORD protection;
};

std::uint64_t* word_of(unsigned char* entry) {
  return reinterpret_cast<std::uint64_t*>(align_down(address_of(entry), 8));
}

void write_long_jump(unsigned char* at, const void* target) {
  const unsigned char opcode[6] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  memcpy(at, opcode, sizeof opcode);
  memcpy(at + sizeof opcode, &target, sizeof target);
}

// Whether the process has shadow stacks (Intel SDM, volume 1, chapter 17).
bool has_shadow_stack() {
  std::uintptr_t pointer = 0;
  // rdsspq, which does nothing if there is none.
  asm volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer));
  return pointer != 0;
}

// The code of an exported function, whose first instruction may only jump there. In Microsoft's
// ucrtbase such are _msize, _expand and _recalloc, whose code the library's own calls go to
// directly.
const unsigned char* code_of(const Image& image, const unsigned char* function) {
  constexpr int kMaxJumps = 4;
  for (int i = 0; i < kMaxJumps; ++i) {
    if (image.bytes_of(function, kJumpSize) < kJumpSize || *function != 0xe9) break;
    std::int32_t distance;
    memcpy(&distance, function + 1, sizeof distance);
    const unsigned char* const target = function + kJumpSize + distance;
    if (!image.contains(target)) break;
    function = target;
  }
  return function;
}

// One library's functions, while they are being replaced.
class Replacing {
 public:
  Replacing(const Image& image, unsigned number, Threads threads)
      : image_(image),
        runtime_(runtimes[number]),
        replacements_(replacements_for(number)),
        area_(image),
        threads_(threads) {}

  void find() {
    for (unsigned i = 0; i < kFunctionCount; ++i) {
      const unsigned char* const exported = image_.find_function(kFunctionInfo[i].name);
      exported_[i] = exported;
      runtime_.original[i] = exported;
      runtime_.outcome[i] = exported == nullptr ? Outcome::kAbsent : Outcome::kRefused;
      if (exported == nullptr) continue;
      entries_[i] = const_cast<unsigned char*>(code_of(image_, exported));
      const std::size_t bytes = image_.bytes_of(exported, sizeof runtime_.entry[i]);
      memcpy(runtime_.entry[i], exported, bytes);
    }
  }

  void replace() {
    if (!area_.is_there()) return give_up("there is no room for code within reach of it");
    for (unsigned i = 0; i < kFunctionCount; ++i) prepare(i);
    runtime_.code = area_.start();
    if (!area_.seal()) return give_up("the system refuses memory for code");
    bool at_entries = is_movable(Family::kPlain);
    // With malloc and free as they were, the aligned functions get the tables like all others.
    if (at_entries && !is_movable(Family::kAligned)) leave(Family::kAligned);
    if (at_entries) at_entries = unprotect();
    if (at_entries) at_entries = write();
    bool tables_change = true;
    for (unsigned i = 0; i < kFunctionCount; ++i) {
      if (entries_[i] == nullptr) continue;
      if (at_entries && copies_[i] != nullptr) {
        runtime_.outcome[i] = Outcome::kReplaced;
        continue;
      }
      runtime_.original[i] = entries_[i];
      if (tables_change) tables_change = replace_in_tables(i);
      if (!tables_change) leave_in_tables(i);
    }
    flush();
  }

 private:
  void give_up(const char* why) {
    for (unsigned i = 0; i < kFunctionCount; ++i) runtime_.reason[i] = why;
  }

  // Whether all functions of the family can be replaced at their entries.
  bool is_movable(Family family) const {
    for (unsigned i = 0; i < kFunctionCount; ++i) {
      if (kFunctionInfo[i].family == family && entries_[i] != nullptr && copies_[i] == nullptr) {
        return false;
      }
    }
    return true;
  }

  // Its functions stay as they are.
  void leave(Family family) {
    for (unsigned i = 0; i < kFunctionCount; ++i) {
      if (kFunctionInfo[i].family == family) entries_[i] = nullptr;
    }
    Change* const end = std::remove_if(changes_, changes_ + change_count_, [&](const Change& c) {
      return kFunctionInfo[c.function].family == family;
    });
    change_count_ = std::size_t(end - changes_);
  }

  // An earlier function at the same address, or `i`.
  unsigned same_as(unsigned i) const {
    unsigned other = 0;
    while (entries_[other] != entries_[i]) ++other;
    return other;
  }

  void prepare(unsigned i) {
    unsigned char* const entry = entries_[i];
    if (entry == nullptr) return;
    if (const unsigned other = same_as(i); other != i) {
      jumps_[i] = jumps_[other];
      copies_[i] = copies_[other];
      if (copies_[i] != nullptr) runtime_.original[i] = copies_[i];
      runtime_.reason[i] = runtime_.reason[other];
      return;
    }
    unsigned char* const jump = area_.next(kLongJump);
    if (jump == nullptr) {
      runtime_.reason[i] = "there is no room for code within reach of it";
      return;
    }
    write_long_jump(jump, replacements_[i]);
    area_.take(kLongJump);
    jumps_[i] = jump;

    if (address_of(entry) % 8 > 8 - kJumpSize) {
      runtime_.reason[i] = "its first bytes lie in two words";
      return;
    }
    unsigned char* const copy = area_.next(kMaxCopied);
    if (copy == nullptr) {
      runtime_.reason[i] = "there is no room for code within reach of it";
      return;
    }
    const arch::CodeView function{entry, 0, image_.bytes_of(entry, kMaxScanned), address_of(entry)};
    unsigned char bytes[kMaxCopied];
    const MovedEntry moved = move_entry(function, address_of(copy), calls_, bytes);
    if (moved.refusal != nullptr) {
      runtime_.reason[i] = moved.refusal;
      return;
    }
    memcpy(copy, bytes, moved.size);
    area_.take(moved.size);
    copies_[i] = copy;
    runtime_.original[i] = copy;

    unsigned char word[8];
    memcpy(word, word_of(entry), sizeof word);
    const auto distance =
        static_cast<std::int32_t>(address_of(jump) - (address_of(entry) + kJumpSize));
    unsigned char* const at = word + address_of(entry) % 8;
    *at = 0xe9;
    memcpy(at + 1, &distance, sizeof distance);
    Change& change = changes_[change_count_++];
    change.function = i;
    change.entry = entry;
    memcpy(&change.word, word, sizeof word);
  }

  // Makes the entries writable, and leaves them executable: other threads go on.
  bool unprotect() {
    for (std::size_t i = 0; i < change_count_; ++i) {
      Change& c = changes_[i];
      if (VirtualProtect(word_of(c.entry), 8, PAGE_EXECUTE_READWRITE, &c.protection)) continue;
      change_count_ = i;
      protect();
      give_up("the system does not let its code be changed");
      return false;
    }
    return true;
  }

  void protect() {
    // Backwards: two entries may share a page, whose first protection was the library's.
    for (std::size_t i = change_count_; i > 0; --i) {
      DWORD before;
      VirtualProtect(word_of(changes_[i - 1].entry), 8, changes_[i - 1].protection, &before);
    }
  }

  bool write() {
    if (threads_ == Threads::kMaybe) {
      OtherThreads others;
      for (int tries = 0;; ++tries) {
        if (tries == kMaxTries || !others.stop()) {
          protect();
          give_up("other threads cannot be kept out of it");
          return false;
        }
        if (!others.any([this](std::uintptr_t next) { return is_inside(next); })) break;
        others.let_go();
        Sleep(tries < kQuickTries ? 0 : 1);
      }
      write_words();
    } else {
      write_words();
    }
    protect();
    return true;
  }

  bool is_inside(std::uintptr_t next) const {
    for (std::size_t i = 0; i < change_count_; ++i) {
      const std::uintptr_t distance = next - address_of(changes_[i].entry);
      if (distance > 0 && distance < kJumpSize) return true;
    }
    return false;
  }

  void write_words() {
    for (std::size_t i = 0; i < change_count_; ++i) {
      // (1) release: a thread that gets into the jump finds the code that it leads to, and what the
      // runtime's members are. Pairs with the processor's fetch of the code (2)
      std::atomic_ref<std::uint64_t>(*word_of(changes_[i].entry))
          .store(changes_[i].word, std::memory_order_release);
    }
  }

  void flush() { FlushInstructionCache(GetCurrentProcess(), image_.base(), image_.size()); }

  // The order of the functions (functions.hpp) makes it safe to stop at any of them, even if other
  // threads run meanwhile: those that take blocks know all blocks before the first one is given. Of
  // those that do both, all are replaced or none; what another thread has got from one of them
  // before the next is refused is the one thing that may go to an original.
  bool replace_in_tables(unsigned i) {
    if (jumps_[i] != nullptr && lead(i, exported_[i], jumps_[i])) {
      runtime_.outcome[i] = Outcome::kInTables;
      return true;
    }
    const bool takes_and_gives = i >= kFirstThatGives && i < kFirstThatTakesNone;
    for (unsigned back = takes_and_gives ? kFirstThatGives : i; back <= i; ++back) {
      if (exported_[back] == nullptr || jumps_[back] == nullptr) continue;
      lead(back, jumps_[back], exported_[back]);
      leave_in_tables(back);
    }
    return false;
  }

  void leave_in_tables(unsigned i) {
    runtime_.outcome[i] = Outcome::kRefused;
    if (runtime_.reason[i] == nullptr) runtime_.reason[i] = kTablesStay;
  }

  // Leads other libraries from one place to the other: in their tables of imports if they have been
  // loaded, and by the table of exports when they will be. False if not all could be.
  bool lead(unsigned i, const unsigned char* from, const unsigned char* to) {
    std::uint32_t* const exported = image_.find_export(kFunctionInfo[i].name);
    const std::ptrdiff_t distance = to - image_.base();
    if (exported == nullptr || distance != std::ptrdiff_t(std::uint32_t(distance))) return false;
    bool all = store(exported, std::uint32_t(distance));
    for_each_module([&](const Image& module, const char*) {
      if (module.base() == image_.base()) return;
      module.for_each_import([&](const void** word) {
        if (*word == from) all = store(word, static_cast<const void*>(to)) && all;
      });
    });
    return all;
  }

  // A table may lie in a page with code, which other threads go on to execute.
  template <class Word>
  static bool store(Word* word, Word value) {
    constexpr DWORD kExecutable =
        PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    MEMORY_BASIC_INFORMATION page;
    if (VirtualQuery(word, &page, sizeof page) == 0) return false;
    const bool is_code = (page.Protect & kExecutable) != 0;
    DWORD before;
    if (!VirtualProtect(word, sizeof *word, is_code ? PAGE_EXECUTE_READWRITE : PAGE_READWRITE,
                        &before)) {
      return false;
    }
    // (2) release: as (1), for a thread that gets to the jump by this word
    std::atomic_ref<Word>(*word).store(value, std::memory_order_release);
    VirtualProtect(word, sizeof *word, before, &before);
    return true;
  }

  const Image image_;
  Runtime& runtime_;
  const void* const* const replacements_;
  CodeArea area_;
  const Threads threads_;
  const Calls calls_ = has_shadow_stack() ? Calls::kRefused : Calls::kMoved;

  const unsigned char* exported_[kFunctionCount] = {};
  unsigned char* entries_[kFunctionCount] = {};  // where the code begins
  const unsigned char* jumps_[kFunctionCount] = {};
  const unsigned char* copies_[kFunctionCount] = {};
  Change changes_[kFunctionCount];
  std::size_t change_count_ = 0;
};

template <class Type>
void find(const Image& image, const char* name, Type*& function) {
  function = reinterpret_cast<Type*>(const_cast<unsigned char*>(image.find_function(name)));
}

template <std::size_t kSize>
void copy_name(char (&copy)[kSize], const char* name) {
  std::size_t length = 0;
  for (; name[length] != '\0' && length + 1 < kSize; ++length) copy[length] = name[length];
  copy[length] = '\0';
}

bool has_any(const Image& image) {
  for (const FunctionInfo& function : kFunctionInfo) {
    if (image.find_export(function.name) != nullptr) return true;
  }
  return false;
}

}  // namespace

RuntimesLock::RuntimesLock() { AcquireSRWLockExclusive(&lock); }
RuntimesLock::~RuntimesLock() { ReleaseSRWLockExclusive(&lock); }

bool is_runtime_name(const char* name) {
  for (const char* prefix : {"ucrtbase", "msvcrt", "msvcr", "msvcp"}) {
    const std::size_t length = strlen(prefix);
    if (strncmp_lower(name, prefix, length) == 0) return true;
  }
  return false;
}

void replace_functions(const Image& image, const char* name, Threads threads) {
  if (!has_any(image)) return;
  unsigned number = kMaxRuntimes;
  for (unsigned i = kMaxRuntimes; i > 0; --i) {
    if (runtimes[i - 1].base == image.base()) return;
    if (runtimes[i - 1].base == nullptr) number = i - 1;
  }
  if (number == kMaxRuntimes) return;
  Runtime& runtime = runtimes[number];
  runtime.base = image.base();
  copy_name(runtime.name, name);
  find(image, "_errno", runtime.error_number);
  find(image, "_callnewh", runtime.call_new_handler);
  find(image, "_query_new_mode", runtime.new_mode);
  if (runtime.new_mode == nullptr) find(image, "?_query_new_mode@@YAHXZ", runtime.new_mode);
  find(image, "_invalid_parameter_noinfo", runtime.invalid_argument);
  Replacing replacing(image, number, threads);
  replacing.find();
  replacing.replace();
}

bool is_left_out(const Image& image, const char* name) {
  if (!is_runtime_name(name) || !has_any(image)) return false;
  for (const Runtime& runtime : runtimes) {
    // With room for it: it has just been mapped.
    if (runtime.base == image.base() || runtime.base == nullptr) return false;
  }
  return true;
}

void forget(const void* base) {
  for (Runtime& runtime : runtimes) {
    if (runtime.base != base) continue;
    CodeArea::release(runtime.code);
    memset(static_cast<void*>(&runtime), 0, sizeof runtime);
  }
}

}  // namespace corbel::proxy
