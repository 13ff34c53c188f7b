// SPDX-License-Identifier: Apache-2.0
// A resource limit is reached: malloc returns NULL and ENOMEM, new calls the new-handler and then
// throws bad_alloc, and once blocks are freed all memory is usable again.
//
// Usage: limits as|data|heap MEBIBYTES BLOCKSIZE [border]. "heap" is the hard limit of the heap,
// which the environment sets to MEBIBYTES. With "border" the heap lies across a border of 1 GiB.
#include <sys/mman.h>
#include <sys/resource.h>

#include <new>
#include <string>

#include "life.hpp"

namespace {

// A list in the blocks themselves, because at the limit there is no memory for a separate one.
struct Node {
  Node* next;
};

// Allocates blocks until there is no memory left. Returns their number.
std::size_t exhaust(Node*& list, std::size_t size) {
  std::size_t count = 0;
  for (;;) {
    errno = 0;
    auto* node = static_cast<Node*>(std::malloc(size));
    if (node == nullptr) {
      CHECK(errno == ENOMEM);
      return count;
    }
    CHECK(count * size < (std::size_t{1} << 40));
    std::memset(static_cast<void*>(node), 0x11, size);
    node->next = list;
    list = node;
    ++count;
  }
}

void release(Node*& list, std::size_t count) {
  for (; count > 0 && list != nullptr; --count) {
    Node* next = list->next;
    std::free(list);
    list = next;
  }
}

// Corbel has a table for each GiB of addresses. The system counts it as a whole, touched or not.
// A heap that grows across a border needs another table.
constexpr std::size_t kBorder = std::size_t{1} << 30;
constexpr std::size_t kTable = std::size_t{17} << 16;

// Takes the addresses that the system would hand out next, down to slightly above a border, so that
// the heap crosses the border when it is nearly full.
void approach_border() {
  constexpr std::size_t kStep = std::size_t{8} << 20;
  constexpr std::size_t kLeft = std::size_t{72} << 20;
  for (;;) {
    void* const taken = mmap(nullptr, kStep, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(taken != MAP_FAILED);
    if (reinterpret_cast<std::uintptr_t>(taken) % kBorder < kLeft) return;
  }
}

int handler_calls = 0;

void new_handler() {
  ++handler_calls;
  if (handler_calls % 3 == 0) std::set_new_handler(nullptr);
}

void check_new(std::size_t size) {
  handler_calls = 0;
  std::set_new_handler(new_handler);
  bool thrown = false;
  try {
    // Larger than the rest, however many small blocks are still free.
    void* volatile block = ::operator new(size * 64 + (64U << 20));
    ::operator delete(block);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  CHECK(handler_calls == 3);
  void* volatile none = ::operator new(size * 64 + (64U << 20), std::nothrow);
  CHECK(none == nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  life::give_up_after(200);
  life::check_replacement();
  CHECK(argc == 4 || (argc == 5 && std::strcmp(argv[4], "border") == 0));
  if (argc == 5) approach_border();
  const std::string kind = argv[1];
  const rlim_t bytes = std::strtoull(argv[2], nullptr, 10) << 20;
  const std::size_t size = std::strtoull(argv[3], nullptr, 10);
  const rlimit limit = {bytes, bytes};
  if (kind == "heap") {
    CHECK(std::getenv("CORBEL_HEAP_HARD_LIMIT") != nullptr);
  } else {
    CHECK(setrlimit(kind == "data" ? RLIMIT_DATA : RLIMIT_AS, &limit) == 0);
  }

  Node* list = nullptr;
  std::size_t first = 0;
  for (int round = 0; round < 3; ++round) {
    const std::size_t count = exhaust(list, size);
    std::printf("round %d: %zu blocks of %zu, %zu MiB of %s\n", round, count, size,
                (count * size) >> 20, argv[2]);
    // Most of the memory below the limit can be allocated, in every round.
    CHECK(count * size > bytes / 2);
    if (round == 0) first = count;
    CHECK(count * size + kTable >= (first - first / 20) * size);
    check_new(size);
    // At the limit, too, realloc refuses and keeps the old block.
    auto* kept = reinterpret_cast<unsigned char*>(list);
    errno = 0;
    CHECK(std::realloc(kept, bytes) == nullptr && errno == ENOMEM);
    CHECK(kept[size - 1] == 0x11);
    CHECK(std::calloc(bytes / 16, 16) == nullptr);
    // When half is freed, other sizes find room, and ordinary code runs.
    release(list, count / 2);
    const std::string text(1000, 'x');
    CHECK((text + text).size() == 2000);
    life::use_malloc(5);
    release(list, count);
    CHECK(list == nullptr);
    if (kind == "heap") CHECK(life::status_kib("VmHWM") << 10 < bytes + (12U << 20));
    // One block as large as half of the memory.
    void* large = std::malloc(first * size / 2);
    CHECK(large != nullptr);
    std::free(large);
  }
  return life::passed("limits");
}
