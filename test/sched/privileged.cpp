// SPDX-License-Identifier: Apache-2.0
// Like test/life/privileged.c, with the scheduler.
#include <corbel/parallel_invoke.hpp>

#include <sys/auxv.h>

#include <cstdio>

int main() {
  corbel::parallel_invoke([] {}, [] {});
  return std::puts(getauxval(AT_SECURE) != 0 ? "privileged" : "ordinary") < 0 ? 1 : 0;
}
