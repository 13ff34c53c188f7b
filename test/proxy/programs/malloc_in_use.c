// SPDX-License-Identifier: Apache-2.0
// Prints which malloc the program uses, with and without threads and a fork. Also compiled as C++.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* work(void* unused) {
  (void)unused;
  for (int i = 1; i < 10000; ++i) {
    char* p = (char*)malloc((size_t)i);
    p[0] = 1;
    p = (char*)realloc(p, (size_t)i * 2);
    free(p);
  }
  return NULL;
}

#ifdef __cplusplus
#include <string>
#include <vector>
static void work_in_cxx() {
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) all.push_back(std::string(100, 'x'));
}
#else
static void work_in_cxx(void) {}
#endif

int main(void) {
  work_in_cxx();
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    work(NULL);
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  pthread_join(thread, NULL);

  char* text = NULL;
  size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (stream == NULL || malloc_info(0, stream) != 0) return 1;
  fclose(stream);
  puts(strstr(text, "<corbel ") != NULL ? "corbel" : "other");
  free(text);
  return 0;
}
