// SPDX-License-Identifier: Apache-2.0
#include "top/prometheus.hpp"

#include <fmt/core.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace corbel::cli {
namespace {

using Clock = std::chrono::steady_clock;

// How long a client may take for its request, and for each part of the answer that it reads.
constexpr std::chrono::milliseconds kPatience{2000};
constexpr std::size_t kMaxRequest = 8192;

// A label's value, in which these three characters are escaped.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

class Exposition {
 public:
  explicit Exposition(const std::vector<HeapSample>& samples) : samples_(samples) {}

  // A family of one metric for each sample for which `value` returns one.
  void add(const std::string& name, const char* type, const char* help,
           const std::function<std::optional<std::uint64_t>(const HeapSample&)>& value) {
    std::string lines;
    for (const HeapSample& sample : samples_) {
      const auto number = value(sample);
      if (!number) continue;
      lines += fmt::format("{}{{pid=\"{}\",command=\"{}\"}} {}\n", name, sample.process.pid,
                           escaped(sample.process.command), *number);
    }
    if (lines.empty()) return;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n{}", name, help, name, type, lines);
  }

  std::string text() { return std::move(text_); }

 private:
  const std::vector<HeapSample>& samples_;
  std::string text_;
};

struct HostAndPort {
  std::string host, port;
};

std::optional<HostAndPort> split_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  HostAndPort result{"127.0.0.1", address};
  if (colon != std::string::npos) {
    result.port = address.substr(colon + 1);
    if (colon != 0) result.host = address.substr(0, colon);
    const bool bracketed =
        result.host.size() > 2 && result.host.front() == '[' && result.host.back() == ']';
    if (bracketed) result.host = result.host.substr(1, result.host.size() - 2);
    if (!bracketed && result.host.find(':') != std::string::npos) return std::nullopt;
  }
  const bool is_number = !result.port.empty() && result.port.size() <= 5 &&
                         std::all_of(result.port.begin(), result.port.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number || std::stoi(result.port) > 65535) return std::nullopt;
  return result;
}

class Connection {
 public:
  explicit Connection(int file) : file_(file) {}
  ~Connection() { close(file_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The head of the request; empty if none comes in time.
  std::string read_head() {
    const auto end = Clock::now() + kPatience;
    std::string head;
    char part[1024];
    while (head.find("\r\n\r\n") == std::string::npos && head.find("\n\n") == std::string::npos) {
      if (head.size() > kMaxRequest || !wait(POLLIN, end)) return {};
      const ssize_t got = recv(file_, part, sizeof part, 0);
      if (got <= 0) return {};
      head.append(part, std::size_t(got));
    }
    return head;
  }

  void answer(const char* status, const std::string& type, const std::string& body,
              bool with_body) {
    std::string text = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        status, type, body.size());
    if (with_body) text += body;
    for (std::size_t at = 0; at < text.size();) {
      if (!wait(POLLOUT, Clock::now() + kPatience)) return;
      const ssize_t sent =
          send(file_, text.data() + at, text.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
      if (sent > 0) at += std::size_t(sent);
    }
  }

 private:
  bool wait(short events, Clock::time_point end) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd wanted{file_, events, 0};
      const int ready = poll(&wanted, 1, int(std::max<long>(left, 0)));
      if (ready >= 0 || errno != EINTR) return ready > 0;
    }
  }

  int file_;
};

void serve(Connection& connection, const std::function<ScrapeResult()>& scrape,
           std::string& error) {
  constexpr char kPlain[] = "text/plain; charset=utf-8";
  const std::string head = connection.read_head();
  if (head.empty()) return;
  const std::string line = head.substr(0, head.find_first_of("\r\n"));
  const std::size_t blank = line.find(' ');
  const std::string method = line.substr(0, blank);
  std::string path = blank == std::string::npos ? "" : line.substr(blank + 1);
  path = path.substr(0, path.find_first_of(" ?"));
  const bool is_get = method == "GET";
  if (!is_get && method != "HEAD") {
    connection.answer("405 Method Not Allowed", kPlain, "Only GET is allowed.\n", true);
  } else if (path != "/metrics") {
    connection.answer("404 Not Found", kPlain, "The metrics are at /metrics.\n", is_get);
  } else {
    const ScrapeResult result = scrape();
    error = result.error;
    if (error.empty()) {
      connection.answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", result.text, is_get);
    } else {
      connection.answer("503 Service Unavailable", kPlain, error + "\n", is_get);
    }
  }
}

}  // namespace

std::string to_prometheus(const std::vector<HeapSample>& samples) {
  Exposition exposition(samples);
  for (const auto& gauge : kGauges) {
    exposition.add(fmt::format("corbel_heap_{}_bytes", gauge.name), "gauge", gauge.help,
                   [&](const HeapSample& s) { return std::optional(s.gauges.*gauge.value); });
  }
  const auto always = [](const char* field) {
    return [=](const HeapSample& s) { return std::optional(s[field]); };
  };
  const auto if_set = [](const char* field) {
    return
        [=](const HeapSample& s) { return s[field] != 0 ? std::optional(s[field]) : std::nullopt; };
  };
  const auto of_tasks = [](const char* field) {
    return [=](const HeapSample& s) {
      return s.tasks ? std::optional(s.task_figure(field)) : std::nullopt;
    };
  };
  exposition.add("corbel_heap_footprint_bytes", "gauge",
                 "Bytes that count in the limits: all committed memory.", always("footprint"));
  exposition.add("corbel_heap_peak_footprint_bytes", "gauge", "The largest footprint so far.",
                 always("peak_footprint"));
  exposition.add("corbel_heap_soft_limit_bytes", "gauge", "The soft limit, if there is one.",
                 if_set("soft_limit"));
  exposition.add("corbel_heap_hard_limit_bytes", "gauge", "The hard limit, if there is one.",
                 if_set("hard_limit"));
  exposition.add("corbel_heap_threads", "gauge", "Threads that have a heap.", always("threads"));
  exposition.add("corbel_heap_map_calls_total", "counter", "System calls for address space.",
                 always("map_calls"));
  exposition.add("corbel_heap_purge_calls_total", "counter", "System calls that released memory.",
                 always("purge_calls"));
  exposition.add("corbel_heap_refused_requests_total", "counter",
                 "Requests that the hard limit failed.", always("limit_refusals"));
  exposition.add("corbel_tasks_workers", "gauge", "Threads that the task scheduler has started.",
                 of_tasks("workers"));
  exposition.add("corbel_tasks_busy_workers", "gauge", "Workers that run tasks.", of_tasks("busy"));
  exposition.add("corbel_tasks_stolen_total", "counter",
                 "Tasks that a thread took from another one's deque.", of_tasks("stolen"));
  return exposition.text();
}

std::string listen_address_problem(const std::string& address) {
  return split_address(address)
             ? std::string()
             : "ADDR:PORT expected, such as 127.0.0.1:9464 or [::1]:9464, not '" + address + "'";
}

std::string serve_prometheus(const std::string& address,
                             const std::function<ScrapeResult()>& scrape,
                             const std::function<bool()>& is_over) {
  const auto parts = split_address(address);
  if (!parts) return listen_address_problem(address);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const auto failed = [&](const std::string& why) {
    return fmt::format("cannot listen on {}: {}", address, why);
  };
  if (const int error = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &wanted, &found)) {
    return failed(std::string(gai_strerror(error)) + "; give the address in numbers");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return failed(std::strerror(errno));
  const Connection closer(listener);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, found->ai_addr, found->ai_addrlen) != 0 || listen(listener, 16) != 0) {
    return failed(std::strerror(errno));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  char port[8] = "";
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, port, sizeof port,
                NI_NUMERICSERV);
  }
  const bool has_colons = parts->host.find(':') != std::string::npos;
  fmt::print("serving http://{}{}{}:{}/metrics\n", has_colons ? "[" : "", parts->host,
             has_colons ? "]" : "", port);
  std::fflush(stdout);
  for (;;) {
    const int file = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (file < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) usleep(100000);
      continue;
    }
    std::string error;
    {
      Connection connection(file);
      serve(connection, scrape, error);
    }
    if (!error.empty() && is_over()) return error;
  }
}

}  // namespace corbel::cli
