// SPDX-License-Identifier: Apache-2.0
// malloc at both ends of a process: in preinit functions, constructors and static objects before
// main; in exit handlers, static destructors and destructor functions after it.

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "life.hpp"

extern "C" int early_answer();
extern "C" unsigned char* block_from_constructor();

namespace {

unsigned char* from_preinit = nullptr;
unsigned char* from_constructor = nullptr;
int stages_after_main = 0;

// Runs before the constructors of all libraries.
void preinit() {
  from_preinit = life::make_block(5000);
  life::use_malloc(2);
  // The allocator's fork handlers work before its own constructors have run.
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    life::use_malloc(2);
    _exit(7);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
__attribute__((section(".preinit_array"), used)) void (*preinit_entry)() = preinit;

__attribute__((constructor(101))) void construct() {
  from_constructor = life::make_block(700);
  life::use_malloc(2);
}

// The program's last code: exit handlers have run, static objects are destroyed.
__attribute__((destructor(101))) void destruct() {
  CHECK(stages_after_main == 3);
  life::free_block(from_constructor, 700);
  life::use_malloc(2);
}

struct StaticObject {
  StaticObject() : words(100, "a word too long for the small string optimisation of the library") {}
  ~StaticObject() {
    CHECK(words.size() == 100);
    words.resize(1000);
    ++stages_after_main;
  }
  std::vector<std::string> words;
};
StaticObject static_object;

void exit_handler() {
  life::use_malloc(2);
  life::free_block(from_preinit, 5000);
  ++stages_after_main;
  // Registered during exit and called next.
  std::atexit([] {
    life::use_malloc(2);
    ++stages_after_main;
  });
}

}  // namespace

int main() {
  life::check_replacement();
  CHECK(early_answer() == 42);
  CHECK(block_from_constructor() != nullptr && block_from_constructor()[2999] == (3000 & 0xff));
  CHECK(from_preinit[4999] == (5000 & 0xff));
  CHECK(from_constructor[699] == (700 & 0xff));
  std::atexit(exit_handler);
  return life::passed("before main and after exit");
}
