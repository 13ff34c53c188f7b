// SPDX-License-Identifier: Apache-2.0
// A program whose signal handler forks, wherever the signal comes, also inside malloc, as a crash
// reporter does. The parent goes on. The child replaces itself by another program or ends, after it
// has used a little memory. With "threads", several threads allocate, and the handler may run in
// any of them; the child only ends.
#include <malloc.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "life.hpp"

namespace {

int wanted_forks = 1500;
volatile sig_atomic_t forks = 0;
bool child_allocates = true;

void handler(int) {
  const int saved = errno;
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    if (!child_allocates) _exit(0);
    unsigned char* block = life::make_block(100);
    if (forks % 50 == 0) execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(block != nullptr ? 0 : 1);
  }
  int status = -1;
  CHECK(child > 0);
  while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
  errno = saved;
}

// Slow paths, where the locks are held: large blocks, and slabs that come and go.
void* work(void*) {
  while (__atomic_load_n(&forks, __ATOMIC_RELAXED) < wanted_forks) {
    unsigned char* blocks[64];
    for (unsigned i = 0; i < 64; ++i) blocks[i] = life::make_block(i % 2 != 0 ? 90000 : 30000);
    if (!child_allocates) malloc_trim(0);
    for (unsigned i = 0; i < 64; ++i) life::free_block(blocks[i], i % 2 != 0 ? 90000 : 30000);
  }
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  life::check_replacement();
  child_allocates = count < 2 || strcmp(arguments[1], "threads") != 0;
  if (!child_allocates) wanted_forks = 6000;
  struct sigaction action = {};
  action.sa_handler = handler;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  // Another process sends the signals, because this one is to have a single thread.
  const pid_t self = getpid();
  const pid_t sender = fork();
  CHECK(sender >= 0);
  if (sender == 0) {
    signal(SIGUSR1, SIG_DFL);
    while (getppid() == self && kill(self, SIGUSR1) == 0) usleep(20);
    _exit(0);
  }
  life::give_up_after(150);
  pthread_t threads[3];
  const unsigned others = child_allocates ? 0 : 3;
  for (unsigned i = 0; i < others; ++i) {
    CHECK(pthread_create(&threads[i], nullptr, work, nullptr) == 0);
  }
  work(nullptr);
  for (unsigned i = 0; i < others; ++i) CHECK(pthread_join(threads[i], nullptr) == 0);
  signal(SIGUSR1, SIG_IGN);
  kill(sender, SIGKILL);
  int status = 0;
  while (waitpid(sender, &status, 0) < 0) CHECK(errno == EINTR);
  return life::passed("fork in handler");
}
