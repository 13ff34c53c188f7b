// SPDX-License-Identifier: Apache-2.0
// A replaced function begins with a jump to its replacement. Where it cannot, the tables of imports
// hold the address of the replacement. So the calls are followed from those tables on, through
// jumps, up to the library that they end in.
#include "check/windows/running_program.hpp"

#include <fmt/core.h>
#include <psapi.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "check/known.hpp"
#include "program/windows/library.hpp"
#include "program/windows/names.hpp"
#include "program/windows/pe_image.hpp"
#include "run/windows/process_memory.hpp"
#include "text/windows/wide.hpp"

namespace corbel::cli {
namespace fs = std::filesystem;
namespace {

// Essential: those through which a program gets blocks and gives them back. The functions with
// these endings are called by the runtimes themselves.
constexpr bool is_essential(std::string_view symbol) {
  for (const std::string_view ending : {"_base", "_crt"}) {
    if (symbol.size() > ending.size() && symbol.substr(symbol.size() - ending.size()) == ending) {
      return false;
    }
  }
  return true;
}

struct KnownFunction : Known {
  bool is_aligned;  // of the family of the aligned functions
};

constexpr bool is_aligned(std::string_view family) { return family == "kAligned"; }

constexpr KnownFunction kKnown[] = {
#define CORBEL_FUNCTION(constant, symbol, replacement, family) \
  {{symbol, "", is_essential(symbol)}, is_aligned(#family)},
#define CORBEL_OPERATOR(constant, symbol, name, replacement, family) \
  {{symbol, name, true}, is_aligned(#family)},
#include "proxy/windows/functions.inc"
};

const KnownFunction* known(std::string_view symbol) {
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const KnownFunction& each) { return each.symbol == symbol; });
  return found != std::end(kKnown) ? &*found : nullptr;
}

struct Module {
  std::string path;
  std::string name;  // of the file
  std::uint64_t low = 0, high = 0;
  bool corbel = false;  // has Corbel's allocator, or what replaces malloc by it
  bool proxy = false;   // has what replaces malloc, Corbel's or another
  bool system = false;  // a part of Windows
};

void find_corbel(Module& module) {
  const std::string name = lower(module.name);
  module.proxy = is_proxy_name(name);
  if (name.rfind("corbelmalloc", 0) == 0) {
    module.corbel = true;
  } else if (module.proxy) {
    module.corbel = is_corbel_proxy(module.path);
  } else if (const auto image = module.system ? std::nullopt : read_pe_image(module.path)) {
    module.proxy = image->has_corbel;
    module.corbel =
        module.proxy || (name == "tbbmalloc.dll" && image->exports_name("corbel_heap_stats"));
  }
}

std::vector<Module> list_modules(HANDLE process) {
  std::vector<HMODULE> handles(4096);
  DWORD size = 0;
  if (!K32EnumProcessModules(process, handles.data(), DWORD(handles.size() * sizeof(HMODULE)),
                             &size)) {
    return {};
  }
  handles.resize(std::min<std::size_t>(size / sizeof(HMODULE), handles.size()));
  wchar_t folder[MAX_PATH + 1];
  const std::wstring windows(folder, GetWindowsDirectoryW(folder, MAX_PATH));
  std::vector<Module> list;
  for (const HMODULE handle : handles) {
    wchar_t path[32768];
    const DWORD length = K32GetModuleFileNameExW(process, handle, path, 32768);
    MODULEINFO info{};
    if (length == 0 || !K32GetModuleInformation(process, handle, &info, sizeof info)) continue;
    Module module;
    module.path = narrow({path, length});
    module.name = narrow(fs::path({path, length}).filename().native());
    module.low = reinterpret_cast<std::uint64_t>(info.lpBaseOfDll);
    module.high = module.low + info.SizeOfImage;
    module.system = lower(module.path).rfind(lower(narrow(windows)) + "\\", 0) == 0;
    find_corbel(module);
    list.push_back(std::move(module));
  }
  return list;
}

class Judge {
 public:
  Judge(HANDLE process, CheckReport& report)
      : process_(process), report_(report), modules_(list_modules(process)) {}

  void judge() {
    if (modules_.empty()) {
      report_.error =
          "the DLLs of the process are not known: it has ended, or is only just starting";
      report_.error_code = 2;
      return;
    }
    for (const Module& module : modules_) report_.objects.push_back(module.path);
    for (const Module& module : modules_) {
      if (is_c_runtime(module.name)) add_functions(module);
    }
    for (const Module& module : modules_) add_callers(module);
    decide();
  }

 private:
  const Module* module_at(std::uint64_t address) const {
    for (const Module& module : modules_) {
      if (address >= module.low && address < module.high) return &module;
    }
    return nullptr;
  }

  std::optional<std::uint64_t> word_at(std::uint64_t address) const {
    std::uint64_t word = 0;
    if (!read_memory(process_, reinterpret_cast<const char*>(address), &word, sizeof word)) {
      return std::nullopt;
    }
    return word;
  }

  // Where a call of `address` ends up: follows the jumps that code begins with.
  std::uint64_t follow(std::uint64_t address) const {
    constexpr int kMostJumps = 8;
    for (int i = 0; i < kMostJumps; ++i) {
      unsigned char code[8] = {};
      if (!read_memory(process_, reinterpret_cast<const char*>(address), code, sizeof code)) break;
      const auto distance = [&](unsigned at) {
        std::int32_t value;
        std::memcpy(&value, code + at, sizeof value);
        return static_cast<std::uint64_t>(std::int64_t{value});
      };
      if (code[0] == 0xe9) {  // jmp with a distance of four bytes
        address += 5 + distance(1);
      } else if (code[0] == 0xff && code[1] == 0x25) {  // jmp to the address in a word
        const auto target = word_at(address + 6 + distance(2));
        if (!target) break;
        address = *target;
      } else {
        break;
      }
      if (const Module* module = module_at(address); module != nullptr && module->corbel) break;
    }
    return address;
  }

  std::string owner(std::uint64_t address) const {
    const Module* module = module_at(address);
    return module != nullptr ? module->path : "memory outside of all DLLs";
  }

  void add_functions(const Module& runtime) {
    const auto image = read_pe_image(runtime.path);
    if (!image) return;
    for (const Known& each : kKnown) {
      const auto found =
          std::find_if(image->exports.begin(), image->exports.end(),
                       [&](const PeExport& made) { return made.name == each.symbol; });
      if (found == image->exports.end() || !found->forwarder.empty()) continue;
      const std::uint64_t end = follow(runtime.low + found->offset);
      SymbolReport symbol;
      symbol.symbol = fmt::format("{}!{}", lower(runtime.name), each.symbol);
      symbol.name =
          fmt::format("{} ({})", each.name.empty() ? each.symbol : each.name, lower(runtime.name));
      symbol.provider = owner(end);
      const Module* module = module_at(end);
      symbol.corbel = module != nullptr && module->corbel;
      symbol.essential = each.essential;
      symbol.minor = true;  // until it has a caller
      index_[symbol.symbol] = report_.symbols.size();
      report_.symbols.push_back(std::move(symbol));
    }
  }

  // Whether what the runtime's own functions do with malloc and free, they do with Corbel's:
  // aligned functions that are as they were have their blocks there.
  bool works_on_corbel(std::string_view runtime) const {
    for (const char* name : {"malloc", "free"}) {
      const auto found = index_.find(fmt::format("{}!{}", runtime_of(runtime), name));
      if (found == index_.end() || !report_.symbols[found->second].corbel) return false;
    }
    return true;
  }

  void add_callers(const Module& module) {
    const auto image = read_pe_image(module.path);
    const bool is_caller = !module.corbel || (image && image->has_corbel);
    if (!image || !is_caller || is_c_runtime(module.name)) return;
    for (const PeImport& import : image->imports) {
      if (import.delayed || !is_c_runtime(import.dll)) continue;
      for (const PeImport::Function& function : import.functions) {
        const KnownFunction* const called = known(function.name);
        if (called == nullptr) continue;
        const auto target = word_at(module.low + function.slot);
        const auto found = index_.find(fmt::format("{}!{}", runtime_of(import.dll), function.name));
        if (!target || found == index_.end()) continue;
        SymbolReport& symbol = report_.symbols[found->second];
        const std::uint64_t end = follow(*target);
        symbol.bindings.push_back({module.path, owner(end)});
        if (module.system) continue;
        symbol.minor = false;
        any_caller_ = true;
        const Module* to = module_at(end);
        if (!symbol.essential || (to != nullptr && to->corbel)) continue;
        if (called->is_aligned && works_on_corbel(import.dll)) continue;
        if (kept_.empty()) kept_ = {symbol.name, module.name, owner(end)};
      }
    }
  }

  void decide() {
    const auto corbel = std::find_if(modules_.begin(), modules_.end(), [](const Module& module) {
      return module.corbel && module.proxy;
    });
    report_.active = corbel != modules_.end() && any_caller_ && kept_.empty();
    if (report_.active) {
      add_notes();
      return;
    }
    const auto other = std::find_if(modules_.begin(), modules_.end(), [](const Module& module) {
      return !module.corbel && module.proxy;
    });
    if (corbel == modules_.end() && other != modules_.end()) {
      report_.reasons.push_back(other_proxy(other->path));
    } else if (corbel == modules_.end()) {
      report_.reasons.push_back({"not-loaded",
                                 "Corbel is not loaded; the C runtimes use their own heap",
                                 "start the program with: corbel run -- CMD"});
    } else if (!any_caller_) {
      report_.reasons.push_back(
          {"static", "neither the program nor its DLLs import memory functions of a C runtime",
           "build the program with the runtime's DLLs (/MD)"});
    } else {
      report_.reasons.push_back(
          {"binding",
           fmt::format("the {} that {} calls is the one in {}", kept_[0], kept_[1], kept_[2]),
           "TBB_malloc_replacement_log() in the program says why"});
    }
  }

  void add_notes() {
    std::map<std::string, std::string> kept;
    for (const SymbolReport& symbol : report_.symbols) {
      if (symbol.corbel || !symbol.essential) continue;
      const std::size_t at = symbol.symbol.find('!');
      std::string& names = kept[symbol.symbol.substr(0, at)];
      names += (names.empty() ? "" : ", ") + symbol.symbol.substr(at + 1);
    }
    for (const auto& [runtime, names] : kept) {
      report_.notes.push_back(fmt::format("not replaced in {}: {}", runtime, names));
    }
  }

  HANDLE process_;
  CheckReport& report_;
  std::vector<Module> modules_;
  std::map<std::string, std::size_t> index_;  // of a symbol in the report
  bool any_caller_ = false;
  std::vector<std::string> kept_;  // function, caller and provider where Corbel does not provide it
};

}  // namespace

std::string run_to_entry(const StartedProcess& started, std::uint32_t entry) {
  char* const image = image_of(started.process());
  if (image == nullptr || entry == 0) return "the start of the program cannot be found";
  constexpr unsigned char kStay[] = {0xeb, 0xfe};  // a jump to itself
  char* const start = image + entry;
  if (!write_memory(started.process(), start, kStay, sizeof kStay)) {
    return "the program's code cannot be written to";
  }
  FlushInstructionCache(started.process(), start, sizeof kStay);
  started.resume();
  constexpr ULONGLONG kPatienceMs = 30000;
  const ULONGLONG end = GetTickCount64() + kPatienceMs;
  while (GetTickCount64() < end) {
    if (WaitForSingleObject(started.process(), 2) != WAIT_TIMEOUT) {
      DWORD code = 0;
      GetExitCodeProcess(started.process(), &code);
      return fmt::format("the loader could not start it (exit code 0x{:x})", code);
    }
    SuspendThread(started.thread());
    CONTEXT context{};
    context.ContextFlags = CONTEXT_CONTROL;
    if (GetThreadContext(started.thread(), &context) != 0 &&
        context.Rip == reinterpret_cast<DWORD64>(start)) {
      return {};
    }
    started.resume();
  }
  return "its DLLs did not start within 30 s";
}

void judge(HANDLE process, CheckReport& report) { Judge(process, report).judge(); }

}  // namespace corbel::cli
