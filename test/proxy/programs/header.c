// SPDX-License-Identifier: Apache-2.0
// Includes the one header that HEADER names. The program calls no function of the library, and only
// libraries call its malloc.
#include HEADER
#include <stdio.h>

int main(void) {
  char** log = NULL;
  const int answer = TBB_malloc_replacement_log(&log);
  printf("%d\n", answer);
  for (; log != NULL && *log != NULL; ++log) puts(*log);
  return answer == 0 ? 0 : 1;
}
