// SPDX-License-Identifier: Apache-2.0
// A profile as text: the places that hold most memory, one line each.
#include "profile/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "profile/time_stack.hpp"
#include "symbols/task_label.hpp"
#include "terminal.hpp"

namespace corbel::cli {
namespace {

// The values of one place, with the number of the place among all.
struct Row {
  std::string place;
  std::vector<std::int64_t> values;
};

// "function file:line" of the program's own innermost function, in a profile of time after what the
// time is spent on.
std::string place_of(const Profile& profile, const Sample& sample) {
  const std::vector<Frame> frames = frames_of(profile, sample);
  if (frames.empty()) return "[no stack]";
  if (const std::string& kind = profile.label(sample, "kind"); !kind.empty()) {
    const TimeStack stack = read_time_stack(profile, sample);
    return printable(kind + ": " + text_of(stack.places[stack.site]));
  }
  const std::size_t at = own_frame(frames);
  std::int64_t number = 0;
  std::size_t i = 0;
  for (const std::uint32_t location : sample.stack) {
    for (const Line& line : profile.locations[location].lines) {
      if (i++ == at) number = line.line;
    }
  }
  std::string name = *frames[at].name;
  if (name.size() > 100) name = name.substr(0, 97) + "...";
  name = printable(name);
  const std::string file = printable(*frames[at].file);
  return file.empty() ? name : fmt::format("{} {}:{}", name, file_name(file), number);
}

std::vector<Row> rows_of(const Profile& profile) {
  std::unordered_map<std::string, std::size_t> known;
  std::vector<Row> rows;
  for (const Sample& sample : profile.samples) {
    const std::string place = place_of(profile, sample);
    const auto [found, added] = known.try_emplace(place, rows.size());
    if (added) rows.push_back({place, std::vector<std::int64_t>(sample.values.size())});
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      rows[found->second].values[i] += sample.values[i];
    }
  }
  return rows;
}

std::vector<std::int64_t> totals(const std::vector<Row>& rows, std::size_t width) {
  std::vector<std::int64_t> sum(width);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < width; ++i) sum[i] += row.values[i];
  }
  return sum;
}

// "inuse_space" for people.
std::string title_of(const std::string& type) {
  if (type == "inuse_space") return "in use";
  if (type == "peak_space") return "at peak";
  if (type == "alloc_space") return "allocated";
  return printable(type);
}

// The types that have a column: sizes, or the default one of a profile that has none.
std::vector<std::size_t> columns_of(const Profile& profile) {
  std::vector<std::size_t> columns;
  const std::size_t first = profile.default_index();
  columns.push_back(first);
  for (std::size_t i = profile.types.size(); i-- > 0;) {
    if (i != first && profile.texts[profile.types[i].unit] == "bytes" && columns.size() < 3) {
      columns.push_back(i);
    }
  }
  return columns;
}

// The column by which rows are sorted: the first, but where a program has returned nearly all of
// its memory before it ended, what it held at the peak.
std::size_t telling(const std::vector<std::size_t>& columns, const std::vector<std::int64_t>& sum) {
  std::size_t by = columns.front();
  for (const std::size_t column : columns) {
    if (sum[by] * 20 < sum[column]) by = column;
  }
  return by;
}

}  // namespace

std::string amount(std::int64_t value, const std::string& unit, bool sign) {
  const char* mark = value < 0 ? "-" : sign && value > 0 ? "+" : "";
  const double size = std::abs(static_cast<double>(value));
  if (unit == "bytes") {
    static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t step = 0;
    double shown = size;
    for (; shown >= 1023.95 && step + 1 < std::size(kUnits); ++step) shown /= 1024;
    return fmt::format("{}{:.{}f} {}", mark, shown, step == 0 ? 0 : 1, kUnits[step]);
  }
  if (unit == "nanoseconds") return fmt::format("{}{:.2f} s", mark, size / 1e9);
  std::string digits = fmt::format("{:.0f}", size);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return mark + digits;
}

std::string profile_table(const Profile& profile, std::size_t count, int terminal) {
  std::vector<Row> rows = rows_of(profile);
  const std::vector<std::int64_t> sum = totals(rows, profile.types.size());
  std::vector<std::size_t> columns = columns_of(profile);
  const std::size_t by = telling(columns, sum);
  std::sort(rows.begin(), rows.end(),
            [&](const Row& a, const Row& b) { return a.values[by] > b.values[by]; });
  std::string heading;
  for (const std::size_t column : columns) {
    heading += fmt::format("{:>11}", title_of(profile.texts[profile.types[column].type]));
  }
  const std::string order =
      fmt::format("  place (most {} first)", title_of(profile.texts[profile.types[by].type]));
  std::string text = paint(heading + order, Colour::kBold, terminal) + "\n";
  const auto line = [&](const std::vector<std::int64_t>& values, const std::string& place) {
    for (const std::size_t column : columns) {
      text +=
          fmt::format("{:>11}", amount(values[column], profile.texts[profile.types[column].unit]));
    }
    text += "  " + place + "\n";
  };
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i)
    line(rows[i].values, rows[i].place);
  line(sum, fmt::format("all {} places", rows.size()));
  return text;
}

std::string difference_table(const Profile& profile, std::size_t count, int terminal) {
  std::vector<Row> rows = rows_of(profile);
  const std::size_t width = profile.types.size();
  const std::vector<std::int64_t> sum = totals(rows, 2 * width);
  std::vector<std::int64_t> both;
  for (std::size_t i = 0; i < width; ++i) both.push_back(std::max(sum[i], sum[i + width]));
  const std::size_t by = telling(columns_of(profile), both);
  const auto change = [&](const Row& row) { return row.values[by + width] - row.values[by]; };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (std::abs(change(a)) != std::abs(change(b)))
      return std::abs(change(a)) > std::abs(change(b));
    return a.place < b.place;
  });
  const std::string unit = profile.texts[profile.types[by].unit];
  std::string text = paint(fmt::format("{:>11}{:>11}{:>12}  {}", "before", "after", "change",
                                       title_of(profile.texts[profile.types[by].type])),
                           Colour::kBold, terminal) +
                     "\n";
  const auto line = [&](std::int64_t before, std::int64_t after, const std::string& place) {
    const std::string shown = fmt::format("{:>12}", amount(after - before, unit, true));
    text += fmt::format("{:>11}{:>11}{}  {}\n", amount(before, unit), amount(after, unit),
                        after > before   ? paint(shown, Colour::kBad, terminal)
                        : after < before ? paint(shown, Colour::kGood, terminal)
                                         : shown,
                        place);
  };
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) {
    if (change(rows[i]) == 0) break;
    line(rows[i].values[by], rows[i].values[by + width], rows[i].place);
  }
  line(sum[by], sum[by + width], fmt::format("all {} places", rows.size()));
  return text;
}

}  // namespace corbel::cli
