// SPDX-License-Identifier: Apache-2.0
// Children that are forked while another thread trims inherit no file that the allocator has open
// for a moment.
#include <malloc.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "life.hpp"

namespace {

// The number of a file whose path ends like those that the allocator opens; -1 if there is none.
int find_file() {
  for (int file = 3; file < 32; ++file) {
    char link[32];
    char path[128];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) continue;
    path[length] = '\0';
    if (std::strstr(path, "/syscall") != nullptr) return file;
  }
  return -1;
}

}  // namespace

int main() {
  life::give_up_after(150);
  life::check_replacement();
  std::atomic<bool> stop{false};
  std::atomic<unsigned> trims{0};
  std::thread trimmer([&] {
    while (!stop) {
      malloc_trim(0);
      ++trims;
    }
  });
  int children = 0;
  int with_file = 0;
  // Enough forks, and each of the last ones after another trim has begun.
  while (children < 1000 || trims < 1000) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(find_file() < 0 ? 0 : 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    with_file += WEXITSTATUS(status);
    ++children;
  }
  stop = true;
  trimmer.join();
  std::fprintf(stderr, "%d of %d children have a file of the allocator\n", with_file, children);
  CHECK(with_file == 0);
  return life::passed("inherited files");
}
