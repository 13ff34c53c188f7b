// SPDX-License-Identifier: Apache-2.0
// TBB_malloc_replacement_log: whether the replacement is active, function by function. On Windows,
// where it comes from, it reports on patched machine code; here the question is whose definition
// the program's own references lead to.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "base/text.hpp"
#include "proxy/proxy.hpp"

// Weak: a static executable has no dynamic linker to ask.
#pragma weak dlsym
#pragma weak dladdr

namespace corbel::proxy {
namespace {

constexpr std::size_t kMaxLines = 40;
constexpr std::size_t kLineSize = 160;

char lines[kMaxLines][kLineSize];
char* line_table[kMaxLines + 1];
int verdict = -1;

// 0: not asked yet; 1: a thread is at it; 2: the lines and the verdict are there.
std::atomic<int> progress{0};

#if defined(CORBEL_STATIC)

// We are part of the program, so its own references lead here. Those of its libraries do if the
// dynamic linker finds our definition too, or has no other.
const void* definition(const Symbol& symbol) {
  const void* seen = dlsym != nullptr ? dlsym(RTLD_DEFAULT, symbol.name) : nullptr;
  return seen != nullptr ? seen : symbol.self;
}

#else

// An executable that is not position-independent has entries of its own that jump to a library's
// function, and then the dynamic linker calls those the function. Returns the definition behind
// one: that of the first library in the order of the process.
const void* behind_entry(void* program, const char* name, const void* address) {
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr || symbol->st_shndx != SHN_UNDEF) {
    return address;
  }
  for (auto* map = static_cast<link_map*>(program)->l_next; map != nullptr; map = map->l_next) {
    void* library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const void* found = dlsym(library, name);  // there, or in what it depends on
    Dl_info owner;
    const bool here = found != nullptr && dladdr(found, &owner) != 0 &&
                      reinterpret_cast<ElfW(Addr)>(owner.dli_fbase) == map->l_addr;
    dlclose(library);
    if (here) return found;
  }
  return address;
}

// Where the program's references lead; nullptr when nothing it has in sight defines the name.
const void* definition(const Symbol& symbol) {
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return nullptr;
  const void* address = dlsym(program, symbol.name);
  if (address != nullptr && address != symbol.self) {
    address = behind_entry(program, symbol.name, address);
  }
  dlclose(program);
  return address;
}

#endif

const char* file_of(const void* address) {
  Dl_info info;
  if (dladdr == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return "the program";
  }
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

bool report(const Symbol& symbol, char (&line)[kLineSize]) {
  const void* address = definition(symbol);
  const bool ours = address == symbol.self;
  Text<kLineSize - 1> text{};
  text.add(ours ? "Success: " : "Fail: ").add(symbol.label).add(" (");
  text.add(address != nullptr ? file_of(address) : "not in sight of the program").add(")");
  memcpy(line, text.data(), text.size());
  line[text.size()] = '\0';
  return ours;
}

void report_all() {
  bool all = true;
  std::size_t count = 0;
  for (const Symbol* table : {kFunctions, kOperators}) {
    // A C program with the static library has no operators (proxy.hpp).
    for (; table != nullptr && table->name != nullptr && count < kMaxLines; ++table) {
      all = report(*table, lines[count]) && all;
      line_table[count] = lines[count];
      ++count;
    }
  }
  line_table[count] = nullptr;
  verdict = all ? 0 : -1;
}

}  // namespace
}  // namespace corbel::proxy

extern "C" CORBEL_PROXY_API int TBB_malloc_replacement_log(char*** log) noexcept {
  using namespace corbel::proxy;
  int expected = 0;
  // (1) acquire, with (2), for a thread that comes late; relaxed on failure: (3) looks again
  if (progress.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
    const int saved = errno;
    report_all();
    errno = saved;
    progress.store(2, std::memory_order_release);  // (2) with (1) and (3)
  }
  // (3) acquire: sees the lines published by (2)
  while (progress.load(std::memory_order_acquire) != 2) {
  }
  if (log != nullptr) *log = line_table;
  return verdict;
}
