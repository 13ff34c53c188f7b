// SPDX-License-Identifier: Apache-2.0
// Gives the addresses of a profile their functions, files and lines.
#include "symbols/symbolize.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "symbols/debug_file.hpp"
#include "symbols/perf_map.hpp"

namespace corbel::cli {
namespace {

// A mapping of a file, not of "[vdso]", "//anon" or memory without a name.
bool is_of_file(const std::string& name) {
  return name.size() > 1 && name[0] == '/' && name[1] != '/';
}

bool is_in_file(const Profile& profile, const Location& location) {
  return location.mapping != kNoMapping &&
         is_of_file(profile.texts[profile.mappings[location.mapping].file]);
}

// The kernel's mark of a file that was removed or replaced after it was mapped.
std::string without_mark(const std::string& name) {
  constexpr std::string_view kMark = " (deleted)";
  const bool marked = name.size() > kMark.size() &&
                      name.compare(name.size() - kMark.size(), kMark.size(), kMark) == 0;
  return marked ? name.substr(0, name.size() - kMark.size()) : name;
}

class Symbolizer {
 public:
  explicit Symbolizer(Profile& profile) : profile_(profile) {}

  std::string run() {
    // Files are read one at a time, each with all of its addresses, in whatever mappings they are.
    std::map<std::pair<Texts::Id, Texts::Id>, std::map<std::uint32_t, std::vector<std::uint32_t>>>
        files;
    for (std::uint32_t i = 0; i < profile_.locations.size(); ++i) {
      const Location& location = profile_.locations[i];
      if (!location.lines.empty()) continue;
      if (!is_in_file(profile_, location)) continue;
      const Mapping& mapping = profile_.mappings[location.mapping];
      files[{mapping.file, mapping.build_id}][location.mapping].push_back(i);
    }
    for (const auto& [key, mappings] : files) {
      const std::string path = without_mark(profile_.texts[key.first]);
      DebugFile file(path, profile_.texts[key.second]);
      for (const auto& [mapping, locations] : mappings) {
        name_in_file(file, path, mapping, locations);
      }
    }
    return advice();
  }

 private:
  std::uint32_t function_of(const SourceFrame& frame) {
    const Function function{profile_.texts.id(frame.name), profile_.texts.id(frame.system_name),
                            profile_.texts.id(frame.file), frame.start_line};
    const auto key =
        std::tuple(function.name, function.system_name, function.file, function.start_line);
    const auto [place, added] =
        functions_.try_emplace(key, static_cast<std::uint32_t>(profile_.functions.size()));
    if (added) profile_.functions.push_back(function);
    return place->second;
  }

  void name_in_file(DebugFile& file, const std::string& path, std::uint32_t mapping_index,
                    const std::vector<std::uint32_t>& locations) {
    const Mapping mapping = profile_.mappings[mapping_index];
    std::vector<std::uint64_t> offsets;
    for (const std::uint32_t i : locations) {
      offsets.push_back(profile_.locations[i].address - mapping.start + mapping.offset);
    }
    std::vector<std::uint64_t> sorted = offsets;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const std::vector<Resolved> resolved = file.resolve(sorted, mapping.offset);
    bool lines = false, inlined = false;
    for (std::size_t i = 0; i < locations.size(); ++i) {
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), offsets[i]) - sorted.begin();
      const Resolved& found = resolved[static_cast<std::size_t>(at)];
      Location& location = profile_.locations[locations[i]];
      for (const SourceFrame& frame : found.frames) {
        location.lines.push_back({function_of(frame), frame.line, 0});
      }
      lines |= found.known == Known::kLines;
      inlined |= found.frames.size() > 1;
      if (found.frames.empty()) {
        const std::string name =
            fmt::format("{}+{:#x}", file_name(path), found.start != 0 ? found.start : offsets[i]);
        location.lines.push_back({function_of({name, {}, {}, 0, 0}), 0, 0});
        lacking_.insert(locations[i]);
        lacks_[path] = file.lack();
      }
    }
    Mapping& done = profile_.mappings[mapping_index];
    done.has_functions = true;
    done.has_files = done.has_lines = lines;
    done.has_inlined = inlined;
  }

  // Counts frames, not locations: what matters is how much of the picture has no name.
  std::string advice() const {
    std::size_t all = 0, lacking = 0;
    std::map<std::string, std::size_t> by_file;
    for (const Sample& sample : profile_.samples) {
      for (const std::uint32_t location : sample.stack) {
        ++all;
        if (lacking_.count(location) == 0) continue;
        ++lacking;
        const Mapping& mapping = profile_.mappings[profile_.locations[location].mapping];
        ++by_file[without_mark(profile_.texts[mapping.file])];
      }
    }
    if (lacking == 0) return {};
    const auto worst =
        std::max_element(by_file.begin(), by_file.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return fmt::format("{} of {} frames have no name, {} of them in {}: {}", lacking, all,
                       worst->second, worst->first, explain(worst->first));
  }

  std::string explain(const std::string& path) const {
    const auto found = lacks_.find(path);
    switch (found == lacks_.end() ? Lack::kNone : found->second) {
      case Lack::kMissing:
        return "the file is gone (look at the profile where the program is, or before it is "
               "removed)";
      case Lack::kOther:
        return "the file was built again since (profile the new one, or keep the old one's debug "
               "file in /usr/lib/debug/.build-id)";
      case Lack::kNotElf:
        return "the file cannot be read as ELF";
      case Lack::kStripped:
        return "it is stripped (build it with -g, install its package of debug symbols, -dbgsym "
               "or -dbg, or set DEBUGINFOD_URLS)";
      case Lack::kNone:
        break;
    }
    return "its debug information does not have them (build it with -g)";
  }

  Profile& profile_;
  std::map<std::tuple<Texts::Id, Texts::Id, Texts::Id, std::int64_t>, std::uint32_t> functions_;
  std::set<std::uint32_t> lacking_;
  std::map<std::string, Lack> lacks_;
};

// Names of functions that only pass a request on to the allocator.
bool is_allocator_function(const std::string& name) {
  static const std::set<std::string_view> kNames = {
      "malloc",        "calloc",         "realloc",        "reallocarray", "memalign",
      "aligned_alloc", "posix_memalign", "valloc",         "pvalloc",      "__libc_malloc",
      "__libc_calloc", "__libc_realloc", "__libc_memalign"};
  const std::string_view plain = std::string_view(name).substr(0, name.find('('));
  return kNames.count(plain) != 0 || plain.rfind("scalable_", 0) == 0 ||
         plain.rfind("operator new", 0) == 0 || name.rfind("corbel::alloc::", 0) == 0 ||
         name.rfind("corbel_malloc", 0) == 0;
}

bool is_allocator_file(const std::string& path) {
  const std::string name = file_name(path);
  return name.rfind("libcorbelmalloc", 0) == 0 || name.rfind("libtbbmalloc", 0) == 0;
}

}  // namespace

std::string symbolize(Profile& profile) { return Symbolizer(profile).run(); }

void name_code_without_file(Profile& profile) {
  const PerfMap made(profile.fact("pid"));
  std::map<std::string, std::uint32_t> functions;
  for (Location& location : profile.locations) {
    if (!location.lines.empty() || is_in_file(profile, location)) continue;
    std::string name = made.name_at(location.address);
    if (name.empty() && location.mapping != kNoMapping) {
      name = profile.texts[profile.mappings[location.mapping].file];
    }
    if (name.empty() || name[0] == '/') name = "[code without a file]";
    const auto [place, added] =
        functions.try_emplace(name, static_cast<std::uint32_t>(profile.functions.size()));
    if (added) profile.functions.push_back({profile.texts.id(name), 0, 0, 0});
    location.lines.push_back({place->second, 0, 0});
  }
}

void drop_allocator_frames(Profile& profile) {
  std::vector<bool> own(profile.locations.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Location& location = profile.locations[i];
    own[i] = location.mapping != kNoMapping &&
             is_allocator_file(profile.texts[profile.mappings[location.mapping].file]);
    if (!own[i] && !location.lines.empty()) {
      own[i] = std::all_of(location.lines.begin(), location.lines.end(), [&](const Line& line) {
        return is_allocator_function(profile.texts[profile.functions[line.function].name]);
      });
    }
  }
  for (Sample& sample : profile.samples) {
    std::size_t count = 0;
    while (count < sample.stack.size() && own[sample.stack[count]]) ++count;
    // A stack of nothing else is the allocator's own.
    if (count == sample.stack.size()) continue;
    sample.stack.erase(sample.stack.begin(),
                       sample.stack.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

}  // namespace corbel::cli
