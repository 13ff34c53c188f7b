// SPDX-License-Identifier: Apache-2.0
// realloc to a smaller size without free memory: the block can always stay where it is.
#include <sys/resource.h>

#include "life.hpp"

namespace {

struct Node {
  Node* next;
};

Node* exhaust(std::size_t size, Node* list) {
  while (auto* node = static_cast<Node*>(std::malloc(size))) {
    node->next = list;
    list = node;
  }
  return list;
}

void shrink(unsigned char* block, std::size_t from, std::size_t to) {
  auto* smaller = static_cast<unsigned char*>(std::realloc(block, to));
  if (smaller == nullptr) std::fprintf(stderr, "from %zu to %zu\n", from, to);
  CHECK(smaller != nullptr);
  for (std::size_t i = 0; i < to; ++i) CHECK(smaller[i] == (from & 0xff));
  // Not freed, so that no other block can reuse its memory.
}

}  // namespace

int main() {
  life::give_up_after(200);
  life::check_replacement();
  constexpr rlim_t kLimit = rlim_t{256} << 20;
  const rlimit limit = {kLimit, kLimit};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  constexpr struct {
    std::size_t from, to;
  } kCases[] = {{200000, 90000}, {100000, 40000}, {40000, 5000},      {5000, 700},
                {1000, 40},      {200000, 100},   {(4U << 20), 3000}, {(4U << 20), 2U << 20}};
  constexpr std::size_t kCount = sizeof kCases / sizeof kCases[0];
  unsigned char* blocks[kCount];
  for (std::size_t i = 0; i < kCount; ++i) blocks[i] = life::make_block(kCases[i].from + i + 1);
  Node* list = nullptr;
  for (std::size_t size : {1U << 20, 90000U, 40000U, 5000U, 3000U, 700U, 100U, 40U, 16U}) {
    list = exhaust(size, list);
  }
  CHECK(list != nullptr);
  for (std::size_t i = 0; i < kCount; ++i) shrink(blocks[i], kCases[i].from + i + 1, kCases[i].to);
  while (list != nullptr) {
    Node* next = list->next;
    std::free(list);
    list = next;
  }
  return life::passed("shrink when exhausted");
}
