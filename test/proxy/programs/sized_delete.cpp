// SPDX-License-Identifier: Apache-2.0
// A delete that is told the size leaves the allocator in the same state as a plain one: in two
// children of one process, one for each form, the same requests get the same blocks. Nor does the
// array form, for blocks of the array form of new.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

namespace {

std::uint64_t state = 1;
std::uint32_t draw(std::uint32_t bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>((state >> 32) * bound >> 32);
}

struct Block {
  void* start;
  std::size_t size;
};

using New = void* (*)(std::size_t);
using Delete = void (*)(const Block&);

std::vector<Block> make_blocks(New allocate) {
  std::vector<Block> set(5000);
  for (Block& block : set) {
    block.size = 8 + draw(993);
    block.start = allocate(block.size);
  }
  return set;
}

// Returns a hash of the addresses of all blocks.
std::uint64_t replace_at_random(std::vector<Block> set, New allocate, Delete free) {
  std::uint64_t hash = 0;
  for (int i = 0; i < 200000; ++i) {
    Block& block = set[draw(set.size())];
    free(block);
    block.size = 8 + draw(993);
    block.start = allocate(block.size);
    hash = hash * 31 + reinterpret_cast<std::uintptr_t>(block.start);
  }
  return hash;
}

template <class Work>
std::uint64_t in_child(Work work) {
  int ends[2];
  std::uint64_t result = 0;
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    result = work();
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);  // so that the read ends if the child does
  if (child < 0 || read(ends[0], &result, sizeof result) != sizeof result) result = 0;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  return status == 0 ? result : 0;
}

}  // namespace

int main() {
  const New one = [](std::size_t size) { return ::operator new(size); };
  const New array = [](std::size_t size) { return ::operator new[](size); };
  const std::vector<Block> ones = make_blocks(one);
  const std::vector<Block> arrays = make_blocks(array);
  const std::uint64_t plain = in_child([&] {
    return replace_at_random(ones, one, [](const Block& b) { ::operator delete(b.start); });
  });
  const std::uint64_t sized = in_child([&] {
    return replace_at_random(ones, one, [](const Block& b) { ::operator delete(b.start, b.size); });
  });
  const std::uint64_t plain_array = in_child([&] {
    return replace_at_random(arrays, array, [](const Block& b) { ::operator delete[](b.start); });
  });
  const std::uint64_t sized_array = in_child([&] {
    return replace_at_random(arrays, array,
                             [](const Block& b) { ::operator delete[](b.start, b.size); });
  });
  if (plain == 0 || plain_array == 0) return std::puts("a child failed"), 1;
  if (sized != plain) return std::puts("sized delete: other blocks than after plain delete"), 1;
  if (sized_array != plain_array) {
    return std::puts("sized delete[]: other blocks than after plain delete[]"), 1;
  }
  return 0;
}
