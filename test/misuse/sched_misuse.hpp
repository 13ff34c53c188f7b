// SPDX-License-Identifier: Apache-2.0
// Shared by the misuses of the scheduler. Each is a small program, misuse_sched CASE, that prints
// its outcome in a line or two; sched_misuse.py knows the expected lines. A program exits with 3 if
// objects are left over, and with 1 on any other fault.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <stdexcept>

#include <corbel/exceptions.hpp>

#include "test/sched/helped.hpp"

namespace misuse {

struct Case {
  const char* name;
  void (*run)();
};

// Prints a line at once, because nothing is flushed after an abort.
__attribute__((format(printf, 1, 2))) inline void say(const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int n = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[n++] = '\n';
  if (write(STDOUT_FILENO, line, std::size_t(n)) != n) _exit(2);
}

inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  _exit(1);
}

inline test::Balance balance;

struct Object : test::Counted {
  Object() : Counted(balance) {}
};

// What the cases throw.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const char* what = "a body failed") : std::runtime_error(what) {}

 private:
  Object object_;
};

// Prints the exception that f throws.
template <typename F>
void outcome(const F& f) {
  try {
    f();
    say("nothing thrown");
  } catch (const Failure& e) {
    say("Failure: %s", e.what());
  } catch (const corbel::missing_wait& e) {
    say("missing_wait: %s", e.what());
  } catch (const std::invalid_argument& e) {
    say("invalid_argument: %s", e.what());
  } catch (const std::bad_alloc&) {
    say("bad_alloc");
  } catch (const std::exception& e) {
    say("another exception: %s", e.what());
  }
}

// The main function: runs the named case, or lists all cases. Tables end with an empty case.
inline int run_case(std::initializer_list<const Case*> tables, const char* name) {
  const bool list = std::strcmp(name, "--list") == 0;
  for (const Case* table : tables) {
    for (const Case* c = table; c->name != nullptr; ++c) {
      if (list) say("%s", c->name);
      if (std::strcmp(name, c->name) != 0) continue;
      c->run();
      if (balance.alive == 0) return 0;
      std::fprintf(stderr, "%lld objects are left\n", static_cast<long long>(balance.alive));
      return 3;
    }
  }
  return list ? 0 : 2;
}

}  // namespace misuse
