// SPDX-License-Identifier: Apache-2.0
// A sandbox that forbids mremap with a system call filter: realloc of large blocks must work by
// copying. Usage: no_mremap ERRNO
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "life.hpp"

namespace {

void forbid_mremap(unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    std::puts("skipped: no system call filters here");
    std::exit(77);
  }
}

void grow(std::size_t size, std::size_t end) {
  auto* block = static_cast<unsigned char*>(std::malloc(size));
  CHECK(block != nullptr);
  std::memset(block, 0x33, size);
  while (size < end) {
    unsigned char* wall = life::make_block(size);
    block = static_cast<unsigned char*>(std::realloc(block, size * 2));
    CHECK(block != nullptr);
    CHECK(block[0] == 0x33 && std::memcmp(block, block + 1, size - 1) == 0);
    life::free_block(wall, size);
    size *= 2;
    std::memset(block, 0x33, size);
  }
  std::free(block);
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(60);
  life::check_replacement();
  CHECK(argc == 2);
  forbid_mremap(unsigned(std::atoi(argv[1])));
  for (int round = 0; round < 5; ++round) grow(600000, 40U << 20);
  const std::size_t virtual_size = life::status_kib("VmPeak");
  std::fprintf(stderr, "peak of the virtual size: %zu MiB\n", virtual_size >> 10);
  CHECK(virtual_size < (600U << 10));
  return life::passed("no mremap");
}
