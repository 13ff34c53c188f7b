// SPDX-License-Identifier: Apache-2.0
#include "leaks/leak_file.hpp"

#include <fmt/core.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "pprof/profile.hpp"
#include "symbols/symbolize.hpp"

namespace corbel::cli {
namespace {

constexpr const char* kKinds[] = {"definite", "possible", "reachable"};

class LeakReader {
 public:
  LeakReader(std::istream& file, const std::string& path) : file_(file), path_(path) {}

  LeakReport read() {
    std::istream& file = file_;
    std::string line;
    if (!std::getline(file, line) || line != "corbel-leaks 1") {
      throw std::runtime_error(
          fmt::format("{} is not a leak report of this version (a program writes one with "
                      "CORBEL_LEAKS=1,file=PATH)",
                      path_));
    }
    profile_.types.resize(4);
    while (std::getline(file, line) && line != "end") take(line);
    if (line != "end") throw std::runtime_error(fmt::format("{} is not complete", path_));
    report_.advice = symbolize(profile_);
    drop_allocator_frames(profile_);
    for (std::size_t i = 0; i < profile_.samples.size(); ++i) name(i);
    return std::move(report_);
  }

 private:
  void take(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    std::istringstream words(rest);
    if (word == "process") {
      words >> report_.process;
    } else if (word == "command") {
      report_.command = rest;
    } else if (word == "failed") {
      report_.failure = rest;
    } else if (word == "sampled") {
      words >> report_.sampled_every >> report_.reachable_samples;
    } else if (word == "sample") {
      take_sample(words);
    } else if (word == "map") {
      take_map(words);
    } else if (word == "place") {
      take_place(words);
    }
  }

  void take_map(std::istringstream& words) {
    Mapping mapping;
    std::string file;
    words >> std::hex >> mapping.start >> mapping.limit >> mapping.offset >> std::ws;
    if (!std::getline(words, file)) bad();
    mapping.file = profile_.texts.id(file);
    profile_.mappings.push_back(mapping);
  }

  void take_place(std::istringstream& words) {
    LeakPlace place;
    std::string kind;
    words >> kind >> place.blocks >> place.bytes >> place.indirect_blocks >> place.indirect_bytes;
    if (!words) bad();
    std::size_t which = 0;
    while (which < std::size(kKinds) && kind != kKinds[which]) ++which;
    if (which == std::size(kKinds)) bad();
    place.kind = LeakKind(which);
    add(std::move(place), words);
  }

  void take_sample(std::istringstream& words) {
    LeakPlace place;
    words >> place.samples >> place.blocks >> place.bytes;
    if (!words || place.samples == 0) bad();
    add(std::move(place), words);
  }

  void add(LeakPlace place, std::istringstream& words) {
    Sample sample;
    std::uint64_t address = 0;
    // A return address belongs to the call before it.
    while (words >> std::hex >> address) sample.stack.push_back(location_of(address - 1));
    sample.values.resize(4);
    profile_.samples.push_back(std::move(sample));
    report_.places.push_back(std::move(place));
  }

  std::uint32_t location_of(std::uint64_t address) {
    const auto [found, added] =
        locations_.try_emplace(address, static_cast<std::uint32_t>(profile_.locations.size()));
    if (added) {
      Location location;
      location.address = address;
      for (std::uint32_t i = 0; i < profile_.mappings.size(); ++i) {
        const Mapping& mapping = profile_.mappings[i];
        if (address >= mapping.start && address < mapping.limit) location.mapping = i;
      }
      profile_.locations.push_back(location);
    }
    return found->second;
  }

  void name(std::size_t index) {
    for (const std::uint32_t at : profile_.samples[index].stack) {
      const Location& location = profile_.locations[at];
      std::string module;
      if (location.mapping != kNoMapping) {
        module = profile_.texts[profile_.mappings[location.mapping].file];
      }
      for (const Line& line : location.lines) {
        const Function& function = profile_.functions[line.function];
        report_.places[index].stack.push_back(
            {profile_.texts[function.name], profile_.texts[function.file], line.line, module});
      }
    }
  }

  [[noreturn]] void bad() const {
    throw std::runtime_error(fmt::format("{} has a line that is none of a leak report", path_));
  }

  std::istream& file_;
  const std::string& path_;
  Profile profile_;
  LeakReport report_;
  std::map<std::uint64_t, std::uint32_t> locations_;
};

}  // namespace

const char* name_of(LeakKind kind) { return kKinds[std::size_t(kind)]; }

LeakReport read_leak_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  return parse_leak_report(file, path);
}

LeakReport parse_leak_report(std::istream& content, const std::string& path) {
  return LeakReader(content, path).read();
}

}  // namespace corbel::cli
