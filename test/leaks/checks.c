// SPDX-License-Identifier: Apache-2.0
// What surrounds a scan: forks, checks on demand, and systems that forbid tracing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planted.h"

static __attribute__((noinline)) void lose(size_t size) { block_of(size); }

static pthread_barrier_t started;

static void* wait_forever(void* argument) {
  (void)argument;
  pthread_barrier_wait(&started);
  while (pause() != 0) {
  }
  return NULL;
}

static void start_thread(void) {
  pthread_t thread;
  pthread_barrier_init(&started, NULL, 2);
  pthread_create(&thread, NULL, wait_forever, NULL);
  pthread_barrier_wait(&started);
}

static void forbid_tracing(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(77);
}

static void check_on_demand(void) {
  int (*check)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "corbel_leak_check");
  if (check == NULL) exit(2);
  errno = 0;
  const int before = check();
  const char* error = before < 0 ? strerrorname_np(errno) : "none";
  lose(4001);
  forget_calls();
  const int after = check();
  printf("%d %s %d\n", before, error, after);
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "demand") == 0) {
    check_on_demand();
  } else if (strcmp(what, "demand-threads") == 0) {
    start_thread();
    check_on_demand();
  } else if (strcmp(what, "forbidden") == 0) {
    start_thread();
    forbid_tracing();
  } else if (strcmp(what, "forbidden-alone") == 0) {
    forbid_tracing();
    lose(4011);
  } else if (strcmp(what, "fork") == 0) {
    lose(4021);
    start_thread();
    const pid_t child = fork();
    lose(child == 0 ? 4022 : 4023);
    if (child != 0) waitpid(child, NULL, 0);
    printf("%s %d\n", child == 0 ? "child" : "parent", (int)getpid());
  }
  forget_calls();
  return 0;
}
