// SPDX-License-Identifier: Apache-2.0
// What the conformance programs share: a log, random numbers, and an allocator with a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <type_traits>

namespace conformance {

using string = std::string;

// A section of the log is one line: its name, and a digest of what was logged in it. With the
// argument -v the programs print everything.
class log {
 public:
  static bool& is_verbose() {
    static bool verbose = false;
    return verbose;
  }

  explicit log(std::string name) : name_(std::move(name)) {
    if (is_verbose()) std::printf("== %s\n", name_.c_str());
  }
  ~log() {
    if (!is_verbose()) {
      std::printf("%s %zu %016llx\n", name_.c_str(), lines_,
                  static_cast<unsigned long long>(digest_));
    }
  }
  log(const log&) = delete;
  log& operator=(const log&) = delete;

  template <typename... Parts>
  void operator()(const Parts&... parts) {
    std::string line;
    const int each[] = {0, (line += text(parts) + ' ', 0)...};
    static_cast<void>(each);
    ++lines_;
    for (const char c : line) add(static_cast<unsigned char>(c));
    add('\n');
    if (is_verbose()) std::printf("%s\n", line.c_str());
  }

  static std::string text(const std::string& s) { return s; }
  static std::string text(const char* s) { return s; }
  static std::string text(bool b) { return b ? "yes" : "no"; }
  template <typename Number>
  static typename std::enable_if<std::is_arithmetic<Number>::value, std::string>::type text(
      Number n) {
    return std::to_string(n);
  }

 private:
  void add(unsigned char c) { digest_ = (digest_ ^ c) * 0x100000001b3; }

  std::string name_;
  std::size_t lines_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325;
};

// Logs whether two types are the same.
template <typename T, typename U>
void same(log& out) {
  out(std::is_same<T, U>::value);
}

class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  // A number below n.
  std::size_t operator()(std::size_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::size_t>((state_ >> 11) % n);
  }

 private:
  std::uint64_t state_;
};

// The bytes that allocators of each number have allocated. All must be 0 at the end.
inline std::map<int, long>& live_bytes() {
  static std::map<int, long> bytes;
  return bytes;
}

// Two of them are equal if their numbers are. A copy of a container has one with a number that is
// greater by 100.
template <typename T, bool kPropagates>
struct numbered {
  using value_type = T;
  using propagate_on_container_copy_assignment = std::integral_constant<bool, kPropagates>;
  using propagate_on_container_move_assignment = std::integral_constant<bool, kPropagates>;
  using propagate_on_container_swap = std::integral_constant<bool, kPropagates>;
  using is_always_equal = std::false_type;
  template <typename U>
  struct rebind {
    using other = numbered<U, kPropagates>;
  };

  explicit numbered(int n = 1) : number(n) {}
  template <typename U>
  numbered(const numbered<U, kPropagates>& other) : number(other.number) {}
  numbered select_on_container_copy_construction() const { return numbered(number + 100); }

  T* allocate(std::size_t n) {
    live_bytes()[number] += static_cast<long>(n * sizeof(T));
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) {
    live_bytes()[number] -= static_cast<long>(n * sizeof(T));
    ::operator delete(p);
  }
  template <typename U>
  friend bool operator==(const numbered& a, const numbered<U, kPropagates>& b) {
    return a.number == b.number;
  }
  template <typename U>
  friend bool operator!=(const numbered& a, const numbered<U, kPropagates>& b) {
    return a.number != b.number;
  }

  int number;
};

inline bool nothing_leaks() {
  for (const auto& each : live_bytes()) {
    if (each.second != 0) return false;
  }
  return true;
}

// An int in a class that counts its copies and moves.
struct counted {
  static long& copies() {
    static long n = 0;
    return n;
  }
  counted(int v = 0) : value(v) {}
  counted(const counted& other) : value(other.value) { ++copies(); }
  counted(counted&& other) noexcept : value(other.value) {
    other.value = -1;
    ++copies();
  }
  counted& operator=(const counted&) = default;
  friend bool operator==(const counted& a, const counted& b) { return a.value == b.value; }
  friend bool operator!=(const counted& a, const counted& b) { return a.value != b.value; }
  friend bool operator<(const counted& a, const counted& b) { return a.value < b.value; }
  friend bool operator>(const counted& a, const counted& b) { return b < a; }
  friend bool operator<=(const counted& a, const counted& b) { return !(b < a); }
  friend bool operator>=(const counted& a, const counted& b) { return !(a < b); }

  int value;
};

template <typename Iterator>
string values(Iterator first, Iterator last) {
  string all;
  for (; first != last; ++first) all += std::to_string(first->value) + ',';
  return all;
}

}  // namespace conformance
