// SPDX-License-Identifier: Apache-2.0
// Is loaded while the program's time is profiled.
__attribute__((visibility("default"), aligned(128))) void timed_work(long n) {
  for (volatile long i = 0; i < n; i = i + 1) {
  }
}
