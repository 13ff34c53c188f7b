// SPDX-License-Identifier: Apache-2.0
#include "profile/hot_spots_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hot_spots_page_files.hpp"
#include "page/page.hpp"
#include "profile/advice.hpp"
#include "profile/hot_spots_report.hpp"
#include "profile/memory_functions.hpp"
#include "profile/sort_down.hpp"
#include "symbols/task_label.hpp"

namespace corbel::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kSpots = 300, kSites = 300;  // more than anyone reads

json json_of(const Place& place) {
  json result{{"function", place.function}};
  if (!place.file.empty()) {
    result["file"] = place.file;
    result["line"] = place.line;
  }
  if (!place.module.empty()) result["module"] = place.module;
  if (place.inlined) result["inlined"] = true;
  // The program's own frames stand out.
  if (kind_of({&place.function, &place.file}) == FrameKind::kProgram &&
      !is_system_module(place.module)) {
    result["own"] = true;
  }
  return result;
}

json json_of(const Counts& counts) {
  json result{{"allocations", counts.allocations},
              {"bytes", counts.bytes},
              {"brief", counts.brief},
              {"handed_over", counts.handed_over},
              {"received", counts.received},
              {"growths", counts.growths},
              {"copied", counts.copied}};
  if (!counts.receivers.empty()) result["receivers"] = counts.receivers;
  return result;
}

json json_of(const ThreadTime& thread) {
  json result{{"name", thread.name}, {"total", thread.total()}, {"memory", thread.memory()}};
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (thread.by_kind[i] != 0) {
      result["kinds"][std::string(name_of(static_cast<Kind>(i)))] = thread.by_kind[i];
    }
  }
  return result;
}

json json_of(const Access& access) {
  return {{"place", json_of(access.place)}, {"thread", access.thread}, {"samples", access.samples},
          {"writes", access.writes},        {"first", access.first},   {"last", access.last},
          {"block", access.block}};
}

json json_of(const Spot& spot, const HotSpots& all) {
  json result{{"kind", name_of(spot.kind)},      {"place", json_of(spot.place)},
              {"text", text_of(spot.place)},     {"cost", spot.cost},
              {"advice", advice_for(spot, all)}, {"threads", spot.threads}};
  if (!spot.container.empty()) result["container"] = spot.container;
  if (!spot.task.empty()) result["task"] = spot.task;
  if (spot.count != 0) result["count"] = spot.count;
  if (spot.kind != Kind::kSharing && spot.kind != Kind::kLock && !all.system_malloc) {
    result["counts"] = json_of(spot.counts);
  }
  result["stacks"] = json::array();
  for (const Stack& stack : spot.stacks) {
    json places = json::array();
    for (const Place& place : stack.places) places.push_back(json_of(place));
    result["stacks"].push_back({{"cost", stack.cost}, {"places", places}});
  }
  if (spot.more_stacks != 0) result["more_stacks"] = spot.more_stacks;
  if (spot.kind == Kind::kSharing) {
    result["lines"] = spot.lines;
    for (const Access& access : spot.accesses) result["accesses"].push_back(json_of(access));
  }
  return result;
}

std::string facts_of(const HotSpots& all) {
  std::string text = all.system_malloc ? "the program's own malloc" : "Corbel's malloc";
  if (all.duration > 0) text += " · " + duration_text(all.duration);
  text += fmt::format(" · {} of processor time", duration_text(all.cpu));
  if (all.period > 0) {
    text += fmt::format(", sampled {}every {}", all.timer == "cpu" ? "at most " : "",
                        duration_text(all.period));
  }
  if (all.timer == "perf") text += " · timed by perf events";
  if (all.timer == "cpu") text += " · timed by processor clocks";
  return text;
}

json data_of(const HotSpots& all, const std::string& title) {
  json data{{"title", title},
            {"facts", facts_of(all)},
            {"malloc", all.system_malloc ? "system" : "corbel"},
            {"timer", all.timer},
            {"period", all.period},
            {"duration", all.duration},
            {"fault_cost", all.fault_cost},
            {"cpu", all.cpu},
            {"all", json_of(all.all)},
            {"threads", json::array()},
            {"spots", json::array()},
            {"sites", json::array()}};
  if (all.system_malloc) data["note"] = system_malloc_note();
  data["verdict"] = verdict_on(all);
  data["doubt"] = hot_spots_doubt(all);
  data["gaps"] = all.gaps;
  for (const ThreadTime& thread : all.threads) data["threads"].push_back(json_of(thread));
  for (std::size_t i = 0; i < std::min(all.spots.size(), kSpots); ++i) {
    data["spots"].push_back(json_of(all.spots[i], all));
  }
  std::vector<const Site*> sites;
  for (const Site& site : all.sites) sites.push_back(&site);
  const auto weight = [](const Site* site) {
    const Counts& counts = site->counts;
    return std::max({counts.allocations, counts.received, counts.growths});
  };
  sort_down(sites, weight);
  for (std::size_t i = 0; i < std::min(sites.size(), kSites); ++i) {
    json site = json_of(sites[i]->counts);
    site["place"] = json_of(sites[i]->place);
    site["text"] = text_of(sites[i]->place);
    if (!sites[i]->container.empty()) site["container"] = sites[i]->container;
    data["sites"].push_back(std::move(site));
  }
  return data;
}

}  // namespace

std::string hot_spots_page(const HotSpots& all, const std::string& title) {
  return page::filled(page::hot_spots_html,
                      {{"title", page::html_text(title)},
                       {"style", std::string(page::style_css) + std::string(page::hot_spots_css)},
                       {"data", page::script_json(data_of(all, title))},
                       {"script", std::string(page::hot_spots_js)}});
}

std::string hot_spots_json(const HotSpots& all, const std::string& title) {
  return data_of(all, title).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace corbel::cli
