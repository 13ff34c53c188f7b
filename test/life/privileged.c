// SPDX-License-Identifier: Apache-2.0
// Says whether the kernel gave this program the privileges of another user. See privileged.py.
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

int main(void) {
  free(malloc(1000));
  return puts(getauxval(AT_SECURE) != 0 ? "privileged" : "ordinary") < 0;
}
