/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest program that uses malloc; footprint.py measures it with and without Corbel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char* block = malloc(100);
  if (block == NULL) return 1;
  strcpy(block, "hello");
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmPeak", 6) == 0 || strncmp(line, "VmHWM", 5) == 0) fputs(line, stdout);
  }
  fclose(status);
  free(block);
  return 0;
}
