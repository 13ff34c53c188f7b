// SPDX-License-Identifier: Apache-2.0
// The one line. HEADER is the header's name; the program calls nothing of the library, and its
// malloc comes from libraries alone.
#include HEADER
#include <stdio.h>

int main(void) {
  char** log = NULL;
  const int answer = TBB_malloc_replacement_log(&log);
  printf("%d\n", answer);
  for (; log != NULL && *log != NULL; ++log) puts(*log);
  return answer == 0 ? 0 : 1;
}
