// SPDX-License-Identifier: Apache-2.0
// The page is page/timeline.html with the style, the scripts and the data put in.
//
// The data is base64 of numbers with 7 bits a byte, the lowest first, the top bit set in all but
// the last (LEB128). For each thread: the number of events; for each event the time since the
// beginning of the one before, its length, and what it is: 0 call, 1 wait, 2 idle, 3 + the function
// of a task. Then the number of steals; for each the time since the one before, the time since the
// push, and the indices of the two threads. Times are in ns.
#include "timeline/timeline_page.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "page/page.hpp"
#include "timeline_page_files.hpp"

namespace corbel::cli::timeline {
namespace {

class Numbers {
 public:
  void add(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) add_byte(std::uint8_t(n) | 0x80);
    add_byte(std::uint8_t(n));
  }

  std::string base64() {
    while (pending_ != 0) add_byte(0);
    return std::move(text_);
  }

 private:
  void add_byte(std::uint8_t byte) {
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits_ = bits_ << 8 | byte;
    if (++pending_ != 3) return;
    for (int shift = 18; shift >= 0; shift -= 6) text_ += kDigits[bits_ >> shift & 63];
    bits_ = 0;
    pending_ = 0;
  }

  std::string text_;
  std::uint32_t bits_ = 0;
  int pending_ = 0;
};

std::string data_of(const Trace& trace) {
  Numbers numbers;
  for (const Thread& thread : trace.threads) {
    numbers.add(thread.events.size());
    std::uint64_t last = 0;
    for (const Event& e : thread.events) {
      numbers.add(e.begin - last);
      numbers.add(e.length);
      numbers.add(e.kind == Kind::kTask ? 3 + e.function : std::uint64_t(e.kind));
      last = e.begin;
    }
  }
  numbers.add(trace.steals.size());
  std::uint64_t last = 0;
  for (const Steal& s : trace.steals) {
    numbers.add(s.taken - last);
    numbers.add(s.taken - std::min(s.taken, s.pushed));
    numbers.add(s.from);
    numbers.add(s.to);
    last = s.taken;
  }
  return numbers.base64();
}

}  // namespace

std::string write_page(const Trace& trace, const std::string& title, const std::string& path) {
  nlohmann::json about;
  about["title"] = title;
  about["figures"] = trace.figures;
  about["threads"] = nlohmann::json::array();
  for (const Thread& thread : trace.threads) about["threads"].push_back(thread.name);
  about["functions"] = nlohmann::json::array();
  for (const Function& f : trace.functions) {
    about["functions"].push_back({{"name", f.name}, {"full", f.full_name}});
  }

  const std::string page = page::filled(
      page::timeline_html,
      {{"title", page::html_text(title)},
       {"style", std::string(page::timeline_css)},
       {"scripts", std::string(page::timeline_data_js) + std::string(page::timeline_view_js) +
                       std::string(page::timeline_js)},
       {"about", page::script_json(about)},
       {"data", data_of(trace)}});
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return fmt::format("cannot write {}: {}; choose another file with -o", path,
                       std::strerror(errno));
  }
  errno = 0;
  std::fwrite(page.data(), 1, page.size(), file);
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) {
    return fmt::format("{} is incomplete ({}); make room or choose another file with -o", path,
                       errno != 0 ? std::strerror(errno) : "a write failed");
  }
  return {};
}

}  // namespace corbel::cli::timeline
