// SPDX-License-Identifier: Apache-2.0
// The symbols that a malloc replacement takes over, and the decision whether it has them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "check/known.hpp"
#include "check/linux/judge.hpp"
#include "program/library.hpp"

namespace corbel::cli {
namespace {

// Essential: the functions that allocate and free blocks. If one of them came from another
// allocator, blocks would be freed into the wrong heap.
constexpr std::array kKnown = {
    Known{"malloc", "", true},
    Known{"free", "", true},
    Known{"calloc", "", true},
    Known{"realloc", "", true},
    Known{"memalign", "", true},
    Known{"aligned_alloc", "", true},
    Known{"posix_memalign", "", true},
    Known{"reallocarray", "", true},
    Known{"malloc_usable_size", "", true},
    Known{"valloc", "", false},
    Known{"pvalloc", "", false},
    Known{"_Znwm", "operator new(size_t)", true},
    Known{"_Znam", "operator new[](size_t)", true},
    Known{"_ZnwmRKSt9nothrow_t", "operator new(size_t, nothrow)", true},
    Known{"_ZnamRKSt9nothrow_t", "operator new[](size_t, nothrow)", true},
    Known{"_ZnwmSt11align_val_t", "operator new(size_t, align_val_t)", true},
    Known{"_ZnamSt11align_val_t", "operator new[](size_t, align_val_t)", true},
    Known{"_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new(size_t, align_val_t, nothrow)", true},
    Known{"_ZnamSt11align_val_tRKSt9nothrow_t", "operator new[](size_t, align_val_t, nothrow)",
          true},
    Known{"_ZdlPv", "operator delete(void*)", true},
    Known{"_ZdaPv", "operator delete[](void*)", true},
    Known{"_ZdlPvm", "operator delete(void*, size_t)", true},
    Known{"_ZdaPvm", "operator delete[](void*, size_t)", true},
    Known{"_ZdlPvRKSt9nothrow_t", "operator delete(void*, nothrow)", true},
    Known{"_ZdaPvRKSt9nothrow_t", "operator delete[](void*, nothrow)", true},
    Known{"_ZdlPvSt11align_val_t", "operator delete(void*, align_val_t)", true},
    Known{"_ZdaPvSt11align_val_t", "operator delete[](void*, align_val_t)", true},
    Known{"_ZdlPvmSt11align_val_t", "operator delete(void*, size_t, align_val_t)", true},
    Known{"_ZdaPvmSt11align_val_t", "operator delete[](void*, size_t, align_val_t)", true},
    Known{"_ZdlPvSt11align_val_tRKSt9nothrow_t", "operator delete(void*, align_val_t, nothrow)",
          true},
    Known{"_ZdaPvSt11align_val_tRKSt9nothrow_t", "operator delete[](void*, align_val_t, nothrow)",
          true},
    Known{"malloc_trim", "", false},
    Known{"mallopt", "", false},
    Known{"mallinfo", "", false},
    Known{"mallinfo2", "", false},
    Known{"malloc_stats", "", false},
    Known{"malloc_info", "", false},
    Known{"cfree", "", false},
    Known{"free_sized", "", false},
    Known{"free_aligned_sized", "", false},
};

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// A reference names the version of glibc's definition. The loader binds it to an unversioned
// definition or to one of exactly that version.
bool version_matches(const std::string& version) {
  return version.empty() || version.rfind("GLIBC", 0) == 0 || version.rfind("CXXABI", 0) == 0;
}

bool is_operator(const SymbolReport& symbol) { return symbol.symbol.rfind("_Z", 0) == 0; }

const LoadedObject* first_definition(const std::vector<LoadedObject>& objects,
                                     const std::string& symbol) {
  for (const LoadedObject& object : objects) {
    const auto found = object.image.find(symbol);
    if (found && version_matches(found->version)) return &object;
  }
  return nullptr;
}

// The reason to report when `provider` provides malloc instead of Corbel.
Obstacle explain_provider(const LoadedObject& provider, const std::vector<LoadedObject>& objects) {
  const std::string name = base_name(provider.path);
  const bool present = std::any_of(objects.begin(), objects.end(),
                                   [](const LoadedObject& object) { return object.corbel; });
  if (&provider == &objects.front()) {
    return {"own-malloc",
            fmt::format("the program has a malloc of its own: {} defines and exports it, and the "
                        "loader searches the program first",
                        name),
            "rebuild the program without its malloc"};
  }
  if (present && name.rfind("libc.so", 0) != 0) {
    return {
        "another-preload",
        fmt::format("another library comes before Corbel: malloc is taken from {}", provider.path),
        "put Corbel's library first in LD_PRELOAD (corbel run does)"};
  }
  if (present) {
    return {"order", fmt::format("Corbel is loaded, but malloc is taken from {}", provider.path),
            "preload the library, or link it with the program itself"};
  }
  return {"not-loaded", fmt::format("Corbel is not loaded; malloc is taken from {}", provider.path),
          "start the program with: corbel run -- CMD"};
}

}  // namespace

CheckReport new_report() {
  CheckReport report;
  for (const Known& known : kKnown) {
    SymbolReport symbol;
    symbol.symbol = known.symbol;
    symbol.name = known.name.empty() ? known.symbol : known.name;
    symbol.essential = known.essential;
    report.symbols.push_back(std::move(symbol));
  }
  return report;
}

void judge(const std::vector<LoadedObject>& objects, CheckReport& report) {
  if (objects.empty()) return;
  std::string shared_name;
  for (const LoadedObject& object : objects) {
    report.objects.push_back(object.path);
    if (object.corbel && shared_name.empty()) shared_name = object.path;
  }
  const auto is_corbel = [&](const std::string& path) {
    return std::any_of(objects.begin(), objects.end(), [&](const LoadedObject& object) {
      return object.corbel && object.path == path;
    });
  };

  // A program at a fixed address that takes the address of a function defines a stub for it. All
  // objects then call the stub, which leads to the definition that the program found.
  const auto leads_on = [&](const std::string& path, const std::string& symbol) {
    return path == objects.front().path && !objects.front().image.find(symbol);
  };

  bool all = true;
  const LoadedObject* other = nullptr;
  for (SymbolReport& symbol : report.symbols) {
    const LoadedObject* provider = first_definition(objects, symbol.symbol);
    if (provider == nullptr) continue;
    symbol.provider = provider->path;
    symbol.corbel = provider->corbel;
    if (symbol.corbel || !symbol.essential) continue;
    if (is_operator(symbol) && provider == &objects.front()) {
      // A program may define operator new on top of malloc. That is not another allocator.
      report.notes.push_back(fmt::format("the program defines {} itself", symbol.name));
      continue;
    }
    all = false;
    if (other == nullptr) other = provider;
  }
  report.active = all && !report.symbols.front().provider.empty() && report.symbols.front().corbel;
  if (other != nullptr) report.reasons.push_back(explain_provider(*other, objects));

  for (const SymbolReport& symbol : report.symbols) {
    if (!symbol.essential) continue;
    for (const Binding& binding : symbol.bindings) {
      if (is_corbel(binding.to) || is_corbel(binding.from) || binding.to == symbol.provider ||
          leads_on(binding.to, symbol.symbol)) {
        continue;
      }
      if (binding.from == binding.to) {
        report.notes.push_back(
            fmt::format("{} calls a {} of its own", base_name(binding.from), symbol.name));
      } else if (report.active) {
        report.active = false;
        report.reasons.push_back({"binding",
                                  fmt::format("the {} that {} calls is the one in {}", symbol.name,
                                              base_name(binding.from), binding.to),
                                  {}});
      }
    }
  }
  if (report.active && has_private_definition(objects.front().real_path, "malloc") &&
      !objects.front().image.find("malloc")) {
    report.notes.push_back(
        "the program also has a malloc of its own inside, which is not exported: what calls that "
        "one keeps it");
  }
  for (const LoadedObject& object : objects) {
    const std::string name = base_name(object.path);
    if (object.corbel || &object == &objects.front()) continue;
    for (const std::string_view peer :
         {"libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc", "libsnmalloc", "libhoard"}) {
      if (name.rfind(peer, 0) == 0) {
        report.notes.push_back(
            report.active ? fmt::format("{} is loaded too, but its malloc is not used", name)
                          : fmt::format("{} is loaded", name));
      }
    }
  }
}

}  // namespace corbel::cli
