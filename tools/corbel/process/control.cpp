// SPDX-License-Identifier: Apache-2.0
// The side of the corbel command of a request; process_facts.cpp has what it first finds out.
#include "process/control.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "os/linux/request.hpp"
#include "process/process_facts.hpp"

namespace corbel::cli {
namespace {

namespace fs = std::filesystem;
namespace request = os::request;
using Clock = std::chrono::steady_clock;

class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(File&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  File(const File&) = delete;
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

  // Whether the file is ready to be read by `end`.
  bool waits_for_input(Clock::time_point end) const {
    for (;;) {
      // Rounded up, so that the time is over when poll() returns.
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd wanted{number_, POLLIN, 0};
      const int ready = poll(&wanted, 1, int(std::max<long>(left, 0)));
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

 private:
  int number_;
};

std::string last_error() { return std::generic_category().message(errno); }

std::string namespace_of(const std::string& process, const char* kind) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/{}/ns/{}", process, kind), error).string();
}

// Whether this process is in the same namespace, as far as the system tells.
bool shares_namespace(int pid, const char* kind) {
  const std::string theirs = namespace_of(std::to_string(pid), kind);
  return theirs.empty() || theirs == namespace_of("self", kind);
}

// A socket in the network namespace of the process, where its names are.
File make_socket(int pid, std::string& error) {
  const auto make = [] { return File(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); };
  if (shares_namespace(pid, "net")) return make();
  const File own(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const File theirs(open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!own.is_open() || !theirs.is_open() || setns(theirs.number(), CLONE_NEWNET) != 0) {
    error = fmt::format(
        "process {} is in another network namespace: run corbel inside its container, or as root",
        pid);
    return File(-1);
  }
  File made = make();
  if (setns(own.number(), CLONE_NEWNET) != 0) {
    throw std::runtime_error("cannot return to the own network namespace: " + last_error());
  }
  return made;
}

struct Listener {
  File file;
  std::uint64_t number;
};

std::optional<Listener> make_listener(int pid, std::string& error) {
  File file = make_socket(pid, error);
  if (!file.is_open()) {
    if (error.empty()) error = "cannot open a socket: " + last_error();
    return std::nullopt;
  }
  for (;;) {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
      error = "cannot get a random number: " + last_error();
      return std::nullopt;
    }
    number &= request::kNumberMask;
    const request::Address own = request::address_of(number);
    if (bind(file.number(), reinterpret_cast<const sockaddr*>(&own.address), own.size) == 0) {
      if (listen(file.number(), 4) == 0) return Listener{std::move(file), number};
    } else if (errno == EADDRINUSE) {
      continue;  // the number is taken
    }
    error = "cannot listen on a socket: " + last_error();
    return std::nullopt;
  }
}

// Queues the signal to `thread`; to the process if that is 0.
bool send_signal(int pid, int thread, std::uint64_t number, std::string& error) {
  siginfo_t info{};
  info.si_signo = request::kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(request::kMark | number);
  const long done = thread != 0
                        ? syscall(SYS_rt_tgsigqueueinfo, pid, thread, request::kSignal, &info)
                        : syscall(SYS_rt_sigqueueinfo, pid, request::kSignal, &info);
  if (done == 0) return true;
  error = errno == ESRCH ? fmt::format("process {} has ended", pid)
          : errno == EPERM
              ? fmt::format("no right to send a signal to process {}", pid)
              : fmt::format("cannot send a signal to process {}: {}", pid, last_error());
  return false;
}

// The connection of process `pid`; that of any other process is closed.
File accept_from(const Listener& listener, int pid, Clock::time_point end) {
  while (listener.file.waits_for_input(end)) {
    File peer(accept4(listener.file.number(), nullptr, nullptr, SOCK_CLOEXEC));
    ucred who{};
    socklen_t size = sizeof who;
    if (peer.is_open() && getsockopt(peer.number(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
        who.pid == pid) {
      return peer;
    }
  }
  return File(-1);
}

// Reads up to the end of the answer. The content of an answer that is cut off is dropped.
class AnswerReader {
 public:
  AnswerReader(const File& file, int pid, std::chrono::milliseconds patience)
      : file_(file), pid_(pid), patience_(patience) {}

  enum class Result { kComplete, kBusy, kError, kCutOff, kNothing };

  Result read(std::string& text) {
    std::string status;
    for (char c = 0; c != '\n';) {
      if (!read_exactly(&c, 1)) return status.empty() ? Result::kNothing : Result::kCutOff;
      if (c != '\n') status += c;
    }
    if (status == "busy") return Result::kBusy;
    if (status.rfind("error ", 0) == 0) {
      text = status.substr(6);
      return Result::kError;
    }
    if (status != "ok") return Result::kCutOff;
    for (;;) {
      unsigned char bytes[4];
      if (!read_exactly(bytes, sizeof bytes)) return Result::kCutOff;
      const std::size_t size =
          bytes[0] | bytes[1] << 8 | bytes[2] << 16 | std::size_t(bytes[3]) << 24;
      if (size == 0) return Result::kComplete;
      if (size > request::kMaxPiece) return Result::kCutOff;
      text.resize(text.size() + size);
      if (!read_exactly(text.data() + text.size() - size, size)) return Result::kCutOff;
    }
  }

 private:
  // Does not wait for a process that has been stopped. A scan for leaks holds its threads like a
  // debugger, so that does not count.
  bool wait() const {
    constexpr std::chrono::milliseconds kLook{2000};
    const Clock::time_point end = Clock::now() + patience_;
    for (;;) {
      const Clock::time_point now = Clock::now();
      if (file_.waits_for_input(std::min(end, now + kLook))) return true;
      const auto facts = read_process(pid_);
      if (now + kLook >= end || !facts || facts->is_over() || facts->state == 'T') return false;
    }
  }

  bool read_exactly(void* data, std::size_t size) {
    char* next = static_cast<char*>(data);
    while (size != 0) {
      if (!wait()) return false;
      const ssize_t got = recv(file_.number(), next, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      size -= std::size_t(got);
    }
    return true;
  }

  const File& file_;
  int pid_;
  std::chrono::milliseconds patience_;
};

std::string silence(int pid, std::chrono::milliseconds patience) {
  const auto facts = read_process(pid);
  if (!facts || facts->is_over()) return fmt::format("process {} has ended", pid);
  if (const std::string why = why_it_cannot_run(*facts); !why.empty()) return why;
  return fmt::format(
      "process {} did not answer within {:.1f} s: it handles SIGURG itself, cannot open a socket, "
      "or waits for a device; try again",
      pid, double(patience.count()) / 1000);
}

enum class Asked { kDone, kBusy };

Asked ask_once(int pid, const std::string& command, const AskOptions& options, Answer& answer) {
  std::optional<Listener> listener = make_listener(pid, answer.error);
  if (!listener) return Asked::kDone;
  int helper = helper_thread_of(pid);
  // A thread that is about to end its answer to another request blocks them, too.
  const Clock::time_point blocked_end = Clock::now() + options.patience / 2;
  while (helper == 0 && every_thread_blocks_requests(pid)) {
    if (Clock::now() < blocked_end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      helper = helper_thread_of(pid);
      continue;
    }
    answer.error =
        fmt::format("process {} blocks SIGURG in all of its threads, so it cannot be asked", pid);
    return Asked::kDone;
  }
  // The signal is lost where another one is pending, so it is sent again. The helper thread may
  // have ended meanwhile, or be in a long system call.
  const Clock::time_point start = Clock::now();
  const Clock::time_point end = start + options.patience;
  File peer(-1);
  constexpr std::chrono::milliseconds kPause{100};
  while (!peer.is_open() && Clock::now() < end) {
    const bool to_helper = helper != 0 && Clock::now() - start < options.patience / 2;
    if (!send_signal(pid, to_helper ? helper : 0, listener->number, answer.error)) {
      return Asked::kDone;
    }
    peer = accept_from(*listener, pid, std::min(end, Clock::now() + kPause));
  }
  if (!peer.is_open()) {
    answer.error = silence(pid, options.patience);
    return Asked::kDone;
  }
  // It fails where the process has said "busy" and closed the connection already.
  const std::string line = command + "\n";
  send(peer.number(), line.data(), line.size(), MSG_NOSIGNAL);
  using Result = AnswerReader::Result;
  std::string text;
  const auto patience = std::max(options.patience, options.answer_patience);
  switch (AnswerReader(peer, pid, patience).read(text)) {
    case Result::kComplete:
      answer.content = std::move(text);
      return Asked::kDone;
    case Result::kBusy:
      return Asked::kBusy;
    case Result::kError:
      answer.error = fmt::format("process {}: {}", pid, text);
      return Asked::kDone;
    case Result::kNothing:
      // In another user namespace, this user may have no number that the process knows.
      answer.error =
          fmt::format("process {} refuses to answer: {}", pid,
                      shares_namespace(pid, "user")
                          ? "ask as its user, or as root if it has changed its user"
                          : "it is in another user namespace; run corbel inside its container");
      return Asked::kDone;
    case Result::kCutOff:
      break;
  }
  answer.error = fmt::format("process {} ended, or was stopped, while it answered", pid);
  return Asked::kDone;
}

}  // namespace

Answer ask(int given, const std::string& command, const AskOptions& options) {
  Answer answer;
  const auto facts = read_process(given);
  answer.error = why_not_to_ask(given, facts, options.into_sandbox);
  if (!answer.error.empty()) return answer;
  if (command.size() + 1 >= request::kMaxLine || command.find('\n') != std::string::npos) {
    answer.error = "the request is too long, or has a line end in it";
    return answer;
  }
  const Clock::time_point end = Clock::now() + options.patience;
  while (ask_once(facts->pid, command, options, answer) == Asked::kBusy) {
    if (Clock::now() >= end) {
      answer.error = fmt::format("process {} was busy in Corbel all the time; try again", given);
      return answer;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return answer;
}

}  // namespace corbel::cli
