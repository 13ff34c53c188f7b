// SPDX-License-Identifier: Apache-2.0
#include "process/process_facts.hpp"

#include <fmt/core.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "os/linux/request.hpp"
#include "process/process_variable.hpp"
#include "program/library.hpp"

namespace corbel::cli {
namespace {

namespace fs = std::filesystem;
namespace request = os::request;

using Status = std::map<std::string, std::string>;

// The lines of a "status" file.
Status read_status(const std::string& path) {
  Status status;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    status[line.substr(0, colon)] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return status;
}

bool has_request_signal(const Status& status, const char* set) {
  const auto found = status.find(set);
  std::uint64_t signals = 0;
  if (found == status.end()) return false;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), signals, 16);
  return (signals >> (request::kSignal - 1) & 1) != 0;
}

unsigned first_number(const Status& status, const char* key) {
  const auto found = status.find(key);
  unsigned number = 0;
  if (found == status.end()) return 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

std::string text_of(const Status& status, const char* key) {
  const auto found = status.find(key);
  return found != status.end() ? found->second : std::string();
}

template <typename Visit>
void for_each_thread(int pid, const Visit& visit) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    if (!visit(read_status(entry.path() / "status"))) return;
  }
}

std::string name_of_user(unsigned user) {
  const passwd* entry = getpwuid(user);
  return entry != nullptr ? entry->pw_name : "user " + std::to_string(user);
}

enum class Corbel { kYes, kNo, kNoRightToLook };

// Whether the process has Corbel's allocator, as a library or linked in.
Corbel find_corbel(int pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string line, last;
  if (!std::getline(maps, line)) return Corbel::kNoRightToLook;
  do {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos || line.compare(slash, std::string::npos, last) == 0) continue;
    last = line.substr(slash);
    const std::string name = last.substr(last.rfind('/') + 1);
    if (name.rfind("libcorbelmalloc", 0) == 0) return Corbel::kYes;
    // Intel's library has this name, too.
    if (name.rfind("libtbbmalloc", 0) == 0 &&
        (file_is_corbel(fmt::format("/proc/{}/root{}", pid, last)) || file_is_corbel(last))) {
      return Corbel::kYes;
    }
  } while (std::getline(maps, line));
  const std::string program = fmt::format("/proc/{}/exe", pid);
  return file_is_corbel(program) ? Corbel::kYes : Corbel::kNo;
}

std::string why_it_has_no_handler(int given, const ProcessFacts& facts) {
  switch (find_corbel(facts.pid)) {
    case Corbel::kNoRightToLook:
      return fmt::format(
          "no right to look into process {}: {}", given,
          geteuid() == 0 ? "corbel needs the right to trace it (CAP_SYS_PTRACE)" : "ask as root");
    case Corbel::kNo:
      return fmt::format(
          "process {} is not on Corbel: start it with 'corbel run -- CMD'; 'corbel check --pid {}' "
          "says more",
          given, given);
    case Corbel::kYes:
      break;
  }
  if (process_variable(facts.pid, "CORBEL_CONTROL").value_or("") == "0") {
    return fmt::format("process {} was started with CORBEL_CONTROL=0, so it cannot be asked",
                       given);
  }
  if (facts.ignores_request) {
    return fmt::format("process {} ignores SIGURG, so it cannot be asked", given);
  }
  return fmt::format(
      "process {} has no handler for requests: its Corbel is of a version before them, it runs "
      "with more rights than its user, or it has not allocated yet",
      given);
}

// How many system call filters this process has itself, as in a container.
std::string own_filters() { return text_of(read_status("/proc/self/status"), "Seccomp_filters"); }

}  // namespace

std::optional<ProcessFacts> read_process(int pid) {
  Status status = read_status(fmt::format("/proc/{}/status", pid));
  if (status.empty()) return std::nullopt;
  const int process = int(first_number(status, "Tgid"));
  if (process != pid) status = read_status(fmt::format("/proc/{}/status", process));
  if (status.empty()) return std::nullopt;
  ProcessFacts facts;
  facts.pid = process;
  facts.command = text_of(status, "Name");
  // A program can give itself any name; the terminal must not act on it.
  for (char& c : facts.command) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  const std::string state = text_of(status, "State");
  if (!state.empty()) facts.state = state[0];
  facts.user = first_number(status, "Uid");
  facts.has_memory = status.count("VmSize") != 0;
  facts.catches_request = has_request_signal(status, "SigCgt");
  facts.ignores_request = has_request_signal(status, "SigIgn");
  facts.is_filtered = text_of(status, "Seccomp") != "0" && status.count("Seccomp") != 0;
  facts.seccomp_filters = text_of(status, "Seccomp_filters");
  return facts;
}

std::string why_it_cannot_run(const ProcessFacts& facts) {
  if (facts.state == 'T') {
    return fmt::format("process {0} is stopped: continue it with 'kill -CONT {0}'", facts.pid);
  }
  if (facts.state == 't') {
    return fmt::format("process {} is held by a debugger: let it continue there", facts.pid);
  }
  return {};
}

std::string why_not_to_ask(int given, const std::optional<ProcessFacts>& facts, bool into_sandbox) {
  if (!facts) return fmt::format("there is no process {}", given);
  if (facts->is_over()) return fmt::format("process {} has ended", given);
  if (!facts->has_memory) {
    return fmt::format("process {} is a thread of the kernel, which has no heap", given);
  }
  if (geteuid() != 0 && geteuid() != facts->user) {
    return fmt::format("process {} belongs to {}: ask as that user, or as root", given,
                       name_of_user(facts->user));
  }
  if (!facts->catches_request) return why_it_has_no_handler(given, *facts);
  if (find_corbel(facts->pid) != Corbel::kYes) return why_it_has_no_handler(given, *facts);
  if (facts->is_filtered && !into_sandbox && facts->seccomp_filters != own_filters()) {
    return fmt::format(
        "process {} runs in a sandbox (seccomp) that may end it if it opens a socket: if you know "
        "that it may open one, ask with --sandboxed",
        given);
  }
  return why_it_cannot_run(*facts);
}

int helper_thread_of(int pid) {
  int found = 0;
  for_each_thread(pid, [&](const Status& status) {
    const int thread = int(first_number(status, "Pid"));
    if (thread == pid || text_of(status, "Name") != request::kHelperName ||
        has_request_signal(status, "SigBlk")) {
      return true;
    }
    found = thread;
    return false;
  });
  return found;
}

bool every_thread_blocks_requests(int pid) {
  bool any = false;
  bool all = true;
  for_each_thread(pid, [&](const Status& status) {
    any = true;
    all = has_request_signal(status, "SigBlk");
    return all;
  });
  return any && all;
}

std::vector<ProcessFacts> processes_on_corbel() {
  std::vector<ProcessFacts> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.empty() ||
        !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    const auto facts = read_process(std::stoi(name));
    if (!facts || !facts->catches_request || facts->is_over()) continue;
    if (geteuid() != 0 && geteuid() != facts->user) continue;
    if (find_corbel(facts->pid) == Corbel::kYes) found.push_back(*facts);
  }
  std::sort(found.begin(), found.end(),
            [](const ProcessFacts& a, const ProcessFacts& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace corbel::cli
