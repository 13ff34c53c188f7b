// SPDX-License-Identifier: Apache-2.0
// The page that shows a profile.
#include "profile/profile_page.hpp"

#include <fmt/core.h>
#include <time.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "page/page.hpp"
#include "profile/report.hpp"
#include "profile_page_files.hpp"
#include "symbols/task_label.hpp"

namespace corbel::cli {
namespace {

using nlohmann::json;

// The stacks as a tree, so that what many have in common is stored once.
class PageData {
 public:
  PageData(const Profile& profile, bool difference) : profile_(profile), old_(difference) {
    frames_of_location_.resize(profile.locations.size());
    const std::size_t width = profile.types.size();
    now_.resize(width);
    if (old_) before_.resize(width);
    for (const Sample& sample : profile.samples) add(sample);
  }

  json take() {
    json result;
    result["strings"] = strings_;
    result["fnName"] = function_name_;
    result["fnFile"] = function_file_;
    result["fnModule"] = function_module_;
    result["fnKind"] = function_kind_;
    result["frameFn"] = frame_function_;
    result["frameLine"] = frame_line_;
    result["nodeParent"] = node_parent_;
    result["nodeFrame"] = node_frame_;
    result["sampleNode"] = sample_node_;
    result["sampleSite"] = sample_site_;
    for (Names* names : {&threads_, &tasks_, &processes_}) {
      result[names->list_name] = names->list;
      result[names->sample_name] = names->of_sample;
    }
    result["now"] = now_;
    if (old_) result["old"] = before_;
    result["types"] = json::array();
    for (const ValueType& type : profile_.types) {
      result["types"].push_back(
          {{"type", profile_.texts[type.type]}, {"unit", profile_.texts[type.unit]}});
    }
    result["defaultType"] = profile_.default_index();
    result["comments"] = json::array();
    for (const Texts::Id comment : profile_.comments) {
      result["comments"].push_back(profile_.texts[comment]);
    }
    return result;
  }

 private:
  struct Names {
    const char *key, *list_name, *sample_name;
    std::vector<std::string> list{};
    std::unordered_map<std::string, std::size_t> ids{};
    std::vector<std::size_t> of_sample{};

    void add(const std::string& name) {
      const auto [place, added] = ids.try_emplace(name, list.size());
      if (added) list.push_back(name);
      of_sample.push_back(place->second);
    }
  };

  // Numbers things in the order in which they come.
  static std::uint32_t number(std::unordered_map<std::uint64_t, std::uint32_t>& known,
                              std::uint64_t high, std::uint64_t low, bool& added) {
    const auto [place, is_new] =
        known.try_emplace(high << 32 | low, static_cast<std::uint32_t>(known.size()));
    added = is_new;
    return place->second;
  }

  std::uint32_t string(const std::string& text) {
    const auto [place, added] =
        string_ids_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
    if (added) strings_.push_back(text);
    return place->second;
  }

  // The number of the module, and whether it is a shared library.
  std::pair<std::uint32_t, bool> module_of(const Location& location) {
    if (location.mapping == kNoMapping) return {string(""), false};
    const std::string name = file_name(profile_.texts[profile_.mappings[location.mapping].file]);
    return {string(name), name.find(".so") != std::string::npos};
  }

  std::uint32_t function(const Location& location, const Function& function) {
    const auto [module, library] = module_of(location);
    const std::string& name = profile_.texts[function.name];
    const std::string& file = profile_.texts[function.file];
    bool added = false;
    const std::uint32_t id =
        number(functions_, string(name), (std::uint64_t{string(file)} << 12) ^ module, added);
    if (!added) return id;
    function_name_.push_back(string(name));
    function_file_.push_back(string(file));
    function_module_.push_back(module);
    const bool unknown = name.empty() || name[0] == '[' || name.find("+0x") != std::string::npos;
    const FrameKind kind = kind_of({&name, &file});
    function_kind_.push_back(unknown                         ? 4
                             : kind == FrameKind::kScheduler ? 3
                             : kind == FrameKind::kStandard  ? 2
                             : library                       ? 1
                                                             : 0);
    return id;
  }

  // The frames of a location, innermost first.
  const std::vector<std::uint32_t>& frames(std::uint32_t index) {
    std::vector<std::uint32_t>& list = frames_of_location_[index];
    if (!list.empty()) return list;
    const Location& location = profile_.locations[index];
    for (const Line& line : location.lines) {
      const std::uint32_t id = function(location, profile_.functions[line.function]);
      bool added = false;
      list.push_back(number(frame_ids_, id, static_cast<std::uint32_t>(line.line), added));
      if (added) {
        frame_function_.push_back(id);
        frame_line_.push_back(line.line);
      }
    }
    return list;
  }

  void add(const Sample& sample) {
    std::vector<std::uint32_t> stack;
    for (const std::uint32_t location : sample.stack) {
      const std::vector<std::uint32_t>& list = frames(location);
      stack.insert(stack.end(), list.begin(), list.end());
    }
    std::int64_t node = -1;
    for (std::size_t i = stack.size(); i-- > 0;) {
      bool added = false;
      const std::uint32_t id =
          number(nodes_, static_cast<std::uint64_t>(node + 1), stack[i], added);
      if (added) {
        node_parent_.push_back(node);
        node_frame_.push_back(stack[i]);
      }
      node = id;
    }
    sample_node_.push_back(node);
    const std::size_t site = stack.empty() ? 0 : own_frame(frames_of(profile_, sample));
    sample_site_.push_back(stack.empty() ? -1 : static_cast<std::int64_t>(stack[site]));
    for (Names* names : {&threads_, &tasks_, &processes_}) {
      names->add(profile_.label(sample, names->key));
    }
    const std::size_t width = profile_.types.size();
    for (std::size_t i = 0; i < width; ++i) {
      now_[i].push_back(sample.values[old_ ? width + i : i]);
      if (old_) before_[i].push_back(sample.values[i]);
    }
  }

  const Profile& profile_;
  bool old_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> string_ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> functions_, frame_ids_, nodes_;
  std::vector<std::vector<std::uint32_t>> frames_of_location_;
  std::vector<std::uint32_t> function_name_, function_file_, function_module_;
  std::vector<int> function_kind_;
  std::vector<std::uint32_t> frame_function_, node_frame_;
  std::vector<std::int64_t> frame_line_, node_parent_, sample_node_, sample_site_;
  Names threads_{"thread", "threads", "sampleThread"};
  Names tasks_{"task", "tasks", "sampleTask"};
  Names processes_{"process", "processes", "sampleProcess"};
  std::vector<std::vector<std::int64_t>> now_, before_;
};

// One line below the title: when, and how exact.
std::string facts_of(const Profile& profile) {
  std::string text;
  const auto add = [&](const std::string& fact) { text += (text.empty() ? "" : " · ") + fact; };
  if (profile.time_ns > 0) {
    const time_t when = profile.time_ns / 1000000000;
    char buffer[64];
    struct tm parts{};
    if (strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M", localtime_r(&when, &parts)) > 0) {
      add(buffer);
    }
  }
  if (profile.duration_ns > 0) {
    add(fmt::format("{:.1f} s", static_cast<double>(profile.duration_ns) / 1e9));
  }
  if (profile.period > 0 && profile.texts[profile.period_type.unit] == "bytes") {
    add(fmt::format("a sample every {}", amount(profile.period, "bytes")));
  }
  add(fmt::format("{} stacks", amount(static_cast<std::int64_t>(profile.samples.size()), "")));
  return text;
}

std::string page_of(const Profile& profile, bool difference, const std::string& title) {
  json data = PageData(profile, difference).take();
  data["facts"] = facts_of(profile);
  return page::filled(
      page::profile_html,
      {{"title", page::html_text(title)},
       {"style", std::string(page::style_css) + std::string(page::profile_css)},
       {"data", page::script_json(data)},
       {"script", std::string(page::profile_data_js) + std::string(page::profile_flame_js) +
                      std::string(page::profile_table_js) + std::string(page::profile_js)}});
}

}  // namespace

std::string profile_page(const Profile& profile, const std::string& title) {
  return page_of(profile, false, title);
}

std::string difference_page(const Profile& profile, const std::string& title) {
  return page_of(profile, true, title);
}

}  // namespace corbel::cli
