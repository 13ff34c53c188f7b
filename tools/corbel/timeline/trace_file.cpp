// SPDX-License-Identifier: Apache-2.0
#include "timeline/trace_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

namespace corbel::cli::timeline {
namespace {

constexpr char kHowToTrace[] = "write one with: corbel trace -- ./app";

std::uint64_t ns(double micros) {
  return micros <= 0 || !std::isfinite(micros) ? 0 : std::uint64_t(std::llround(micros * 1000));
}

// The members of one event that matter.
struct RawEvent {
  std::string ph, name, thread_name, run;
  double ts = 0, dur = 0, pushed = 0;
  unsigned tid = 0, from = 0;
};

// Takes the events while the file is parsed: as a tree they would need gigabytes.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(Trace* trace) : trace_(*trace) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(double(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(double(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return true; }
  bool string(string_t& value) override {
    if (is_in_event()) {
      if (depth_ == event_depth_ && key_ == "ph") event_.ph = value;
      if (depth_ == event_depth_ && key_ == "name") event_.name = value;
      if (depth_ > event_depth_ && key_ == "name") event_.thread_name = value;
      if (depth_ > event_depth_ && key_ == "run") event_.run = value;
    } else if (section_ == "otherData" && depth_ == 4) {
      if (key_ == "run") function_.key = value;
      if (key_ == "file") function_.file = value;
      if (key_ == "name") function_.name = value;
      if (key_ == "full") function_.full_name = value;
      if (key_ == "offset") function_.offset = std::strtoull(value.c_str(), nullptr, 16);
    }
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (is_in_event() && depth_ == event_depth_) event_ = RawEvent();
    return true;
  }
  bool end_object() override {
    if (is_in_event() && depth_ == event_depth_) take_event();
    if (section_ == "otherData" && depth_ == 4) functions_.push_back(std::move(function_));
    if (section_ == "otherData" && depth_ == 4) function_ = Function();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    // The whole file may be the array.
    if (depth_ == 1 || (depth_ == 2 && section_ == "traceEvents")) event_depth_ = depth_ + 1;
    return true;
  }
  bool end_array() override {
    --depth_;
    if (depth_ + 1 < event_depth_) event_depth_ = 0;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) section_ = value;
    key_ = value;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    error_at = position;
    return false;
  }

  void finish() {
    for (Function& f : functions_) {
      const auto found = function_numbers_.find(f.key);
      if (found != function_numbers_.end()) trace_.functions[found->second] = std::move(f);
    }
    for (Thread& thread : trace_.threads) {
      std::sort(thread.events.begin(), thread.events.end(), [](const Event& a, const Event& b) {
        if (a.begin != b.begin) return a.begin < b.begin;
        return a.length != b.length ? a.length > b.length : a.kind < b.kind;
      });
    }
    sort_threads();
    std::sort(trace_.steals.begin(), trace_.steals.end(),
              [](const Steal& a, const Steal& b) { return a.taken < b.taken; });
  }

  std::size_t error_at = 0;
  bool has_events = false;  // at least the beginning of a trace

 private:
  bool is_in_event() const { return event_depth_ != 0 && depth_ >= event_depth_; }

  bool number(double value) {
    if (is_in_event()) {
      if (key_ == "ts") event_.ts = value;
      if (key_ == "dur") event_.dur = value;
      if (key_ == "tid") event_.tid = unsigned(value);
      if (key_ == "from") event_.from = unsigned(value);
      if (key_ == "pushed") event_.pushed = value;
    } else if (section_ == "otherData" && depth_ == 2) {
      trace_.figures[key_] = value;
    }
    return true;
  }

  // By their numbers, as they began.
  void sort_threads() {
    std::vector<std::uint32_t> order(trace_.threads.size()), place(order.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return trace_.threads[a].number < trace_.threads[b].number;
    });
    std::vector<Thread> sorted;
    for (const std::uint32_t i : order) {
      place[i] = std::uint32_t(sorted.size());
      sorted.push_back(std::move(trace_.threads[i]));
    }
    trace_.threads = std::move(sorted);
    for (Steal& s : trace_.steals) {
      s.from = place[s.from];
      s.to = place[s.to];
    }
  }

  std::uint32_t thread(unsigned number) {
    const auto [found, is_new] =
        thread_numbers_.try_emplace(number, std::uint32_t(trace_.threads.size()));
    if (is_new) {
      trace_.threads.push_back({number, fmt::format("thread {}", number), {}});
    }
    return found->second;
  }

  void take_event() {
    const RawEvent& e = event_;
    has_events = has_events || !e.ph.empty();
    if (e.ph == "M" && e.name == "thread_name") {
      trace_.threads[thread(e.tid)].name = e.thread_name;
    } else if (e.ph == "i" && e.name == "steal" && e.from != 0) {
      trace_.steals.push_back({ns(e.pushed), ns(e.ts), thread(e.from), thread(e.tid)});
    } else if (e.ph == "X") {
      Event made{ns(e.ts), ns(e.dur), Kind::kTask, 0};
      if (e.name == "call") made.kind = Kind::kCall;
      if (e.name == "wait") made.kind = Kind::kWait;
      if (e.name == "idle") made.kind = Kind::kIdle;
      if (made.kind == Kind::kTask) made.function = function(e.run.empty() ? e.name : e.run);
      trace_.threads[thread(e.tid)].events.push_back(made);
    }
  }

  std::uint32_t function(const std::string& key) {
    const auto [found, is_new] =
        function_numbers_.try_emplace(key, std::uint32_t(trace_.functions.size()));
    if (is_new) trace_.functions.push_back({key, {}, 0, {}, {}});
    return found->second;
  }

  Trace& trace_;
  RawEvent event_;
  Function function_;
  std::vector<Function> functions_;
  std::unordered_map<unsigned, std::uint32_t> thread_numbers_;
  std::unordered_map<std::string, std::uint32_t> function_numbers_;
  std::string section_, key_;
  int depth_ = 0;
  int event_depth_ = 0;  // of the events' objects; 0: not among the events
};

}  // namespace

std::string read_trace(const std::string& path, Trace* trace) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fmt::format("cannot read {}: {}; give the file that CORBEL_TRACE named", path,
                       std::strerror(errno));
  }
  if (file.peek() == std::ifstream::traits_type::eof()) {
    return fmt::format(
        "{} is {}; {}", path,
        file.bad() || errno == EISDIR ? "not a file" : "empty: the program has not written it yet",
        kHowToTrace);
  }
  Reader reader(trace);
  const bool is_whole = nlohmann::json::sax_parse(file, &reader);
  if (!reader.has_events) return fmt::format("{} is not a trace; {}", path, kHowToTrace);
  if (!is_whole) {
    return fmt::format(
        "{} is cut off after {} bytes: the program was killed, or the disk was full; trace it "
        "again",
        path, reader.error_at);
  }
  reader.finish();
  std::size_t events = 0;
  for (const Thread& thread : trace->threads) events += thread.events.size();
  if (events == 0) {
    return fmt::format(
        "{} has no tasks: the program has ended before its first parallel call, or does not use "
        "Corbel's scheduler (if it is built for oneTBB: corbel trace --tbb)",
        path);
  }
  return {};
}

std::string write_trace(const Trace& trace, const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return fmt::format("cannot write {}: {}; choose another file with -o", path,
                       std::strerror(errno));
  }
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const auto micros = [](std::uint64_t time) { return double(time) / 1000; };
  fmt::print(file,
             "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{{\"ph\":\"M\",\"name\":"
             "\"process_name\",\"pid\":1,\"args\":{{\"name\":\"corbel\"}}}}");
  for (const Thread& thread : trace.threads) {
    fmt::print(file,
               ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":{},"
               "\"args\":{{\"name\":{}}}}}",
               thread.number, quoted(thread.name));
    for (const Event& e : thread.events) {
      static constexpr const char* kNames[] = {"call", "wait", "idle", "task"};
      const char* const kind = kNames[int(e.kind)];
      const bool is_task = e.kind == Kind::kTask;
      const Function* const f = is_task ? &trace.functions[e.function] : nullptr;
      fmt::print(file,
                 ",\n{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},"
                 "\"dur\":{:.3f}{}}}",
                 f != nullptr && !f->name.empty() ? quoted(f->name) : quoted(kind), kind,
                 thread.number, micros(e.begin), micros(e.length),
                 f != nullptr ? ",\"args\":{\"run\":" + quoted(f->key) + "}" : "");
    }
  }
  std::uint64_t id = 0;
  for (const Steal& s : trace.steals) {
    const unsigned from = trace.threads[s.from].number, to = trace.threads[s.to].number;
    fmt::print(file,
               ",\n{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"steal\",\"cat\":\"steal\",\"pid\":1,"
               "\"tid\":{},\"ts\":{:.3f},\"args\":{{\"from\":{},\"pushed\":{:.3f}}}}}",
               to, micros(s.taken), from, micros(s.pushed));
    ++id;
    for (const bool ends : {false, true}) {
      fmt::print(file,
                 ",\n{{\"ph\":\"{}\",\"name\":\"steal\",\"cat\":\"steal\",\"id\":{},\"pid\":1,"
                 "\"tid\":{},\"ts\":{:.3f}}}",
                 ends ? "f\",\"bp\":\"e" : "s", id, ends ? to : from,
                 micros(ends ? s.taken : s.pushed));
    }
  }
  fmt::print(file, "\n],\"otherData\":{{");
  const char* separator = "";
  for (const auto& [name, value] : trace.figures) {
    fmt::print(file, "{}{}:{}", separator, quoted(name), value);
    separator = ",";
  }
  fmt::print(file, "{}\"functions\":[", separator);
  separator = "\n";
  for (const Function& f : trace.functions) {
    fmt::print(file, "{}{{\"run\":{},\"name\":{},\"full\":{},\"file\":{},\"offset\":\"{:#x}\"}}",
               separator, quoted(f.key), quoted(f.name), quoted(f.full_name), quoted(f.file),
               f.offset);
    separator = ",\n";
  }
  fmt::print(file, "]}}}}\n");
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) {
    return fmt::format("{} is incomplete ({}); make room or choose another file with -o", path,
                       std::strerror(errno));
  }
  return {};
}

}  // namespace corbel::cli::timeline
