// SPDX-License-Identifier: Apache-2.0
// TBB_malloc_replacement_log: reports for each function whether the replacement is active. In TBB
// it exists only on Windows, and reports on patched machine code. Here it reports which library's
// definition the program's own references lead to.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "base/text.hpp"
#include "proxy/linux/proxy.hpp"

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

// 0: not called yet; 1: a thread writes the report; 2: `lines` and `verdict` are complete.
std::atomic<int> progress{0};

#if defined(CORBEL_STATIC)

// We are part of the program, so its own references lead here. Its libraries' references lead here
// too if the dynamic linker finds our definition, or no other.
const void* definition(const Symbol& symbol) {
  const void* seen = dlsym != nullptr ? dlsym(RTLD_DEFAULT, symbol.name) : nullptr;
  return seen != nullptr ? seen : symbol.self;
}

#else

// An executable that is not position-independent has entries of its own that jump to a library's
// functions, and the dynamic linker then reports an entry as the function's address. Returns the
// definition that such an entry leads to: that of the first library in the process's order.
const void* target_of_entry(void* program, const char* name, const void* address) {
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
    const void* found = dlsym(library, name);  // in this library, or in one it depends on
    Dl_info owner;
    const bool here = found != nullptr && dladdr(found, &owner) != 0 &&
                      reinterpret_cast<ElfW(Addr)>(owner.dli_fbase) == map->l_addr;
    dlclose(library);
    if (here) return found;
  }
  return address;
}

// The definition that the program's references lead to; nullptr when no library that the program
// sees defines the name.
const void* definition(const Symbol& symbol) {
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return nullptr;
  const void* address = dlsym(program, symbol.name);
  if (address != nullptr && address != symbol.self) {
    address = target_of_entry(program, symbol.name, address);
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
    // kOperators is null in a C program that uses the static library (proxy.hpp).
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
  // (1) acquire: pairs with no operation, as only one thread ever succeeds; relaxed on failure:
  // (3) synchronises
  if (progress.compare_exchange_strong(expected, 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
    const int saved = errno;
    report_all();
    errno = saved;
    progress.store(2, std::memory_order_release);  // (2) release: publishes the lines to (3)
  }
  // (3) acquire: sees the lines published by (2)
  while (progress.load(std::memory_order_acquire) != 2) {
  }
  if (log != nullptr) *log = line_table;
  return verdict;
}
