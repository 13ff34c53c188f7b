// SPDX-License-Identifier: Apache-2.0
// The program around the kinds of misuse, each of which is a file here:
//
//   misuse KIND [size=BYTES] [far=ALLOCATIONS] [seed=NUMBER]
//   misuse --list     a line of JSON for each kind
#include "misuse.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misuse {
namespace {

constexpr std::size_t kNeighbours = 33;
constexpr const char* kChanged = "a block changed that the program did not touch";
constexpr std::size_t kSameSize = 64;  // blocks after a misuse

Kind* kinds = nullptr;
const char* missed_remark = "nothing happened";
std::uint64_t random_state = 1;
Blocks mixed, same, around;

// Knuth's MMIX generator; the high bits are good enough for sizes.
std::uint32_t next_random() noexcept {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(random_state >> 33);
}

// Not through stdio, whose buffer is a block of the heap.
void say(const char* outcome, const char* text) noexcept {
  char line[200];
  const int length = std::snprintf(line, sizeof line, "%s: %s\n", outcome, text);
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) != length) std::_Exit(3);
}

const char* word(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kDoubleFree:
      return "double free";
    case Fault::kInvalidFree:
      return "invalid free";
    case Fault::kOverflow:
      return "overflow";
    case Fault::kUnderflow:
      return "underflow";
    case Fault::kUseAfterFree:
      return "use after free";
    case Fault::kWrongSize:
      return "wrong size";
    case Fault::kMismatch:
      return "mismatch";
    case Fault::kLeak:
      return "leak";
    case Fault::kUninitialised:
      return "uninitialised";
  }
  return "";
}

void list() {
  for (const Kind* kind = kinds; kind != nullptr; kind = kind->next) {
    const auto has = [kind](unsigned trait) {
      return (kind->traits & trait) != 0 ? "true" : "false";
    };
    std::printf("{\"name\": \"%s\", \"fault\": \"%s\", \"what\": \"%s\", ", kind->name,
                word(kind->fault), kind->what);
    std::printf("\"by_chance\": %s, \"any_size\": %s, \"far\": %s}\n", has(kByChance),
                has(kAnySize), has(kFar));
  }
}

const Kind* find(const char* name) {
  for (const Kind* kind = kinds; kind != nullptr; kind = kind->next) {
    if (std::strcmp(kind->name, name) == 0) return kind;
  }
  return nullptr;
}

bool read_number(const char* text, const char* name, std::uint64_t& number) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(text, name, length) != 0 || text[length] != '=') return false;
  char* end = nullptr;
  number = std::strtoull(text + length + 1, &end, 10);
  return end != text + length + 1 && *end == '\0';
}

}  // namespace

Kind::Kind(const char* kind, Fault its_fault, unsigned its_traits, const char* says,
           void (*commits)(const Run&)) noexcept
    : name(kind), fault(its_fault), traits(its_traits), what(says), commit(commits), next(kinds) {
  kinds = this;
}

void harmed(const char* how) noexcept {
  say("HARMED", how);
  std::_Exit(0);
}

void defused(const char* how) noexcept {
  say("DEFUSED", how);
  std::_Exit(0);
}

void impossible(const char* why) noexcept {
  say("IMPOSSIBLE", why);
  std::_Exit(0);
}

void remark(const char* what) noexcept { missed_remark = what; }

char* take(std::size_t size) noexcept {
  char* block = static_cast<char*>(hide(std::malloc(size)));
  if (block == nullptr) impossible("malloc returned no block");
  return block;
}

void release(void* block) noexcept { std::free(hide(block)); }

void put(char* address, char value) noexcept { *const_cast<volatile char*>(hide(address)) = value; }

char get(const char* address) noexcept { return *const_cast<const volatile char*>(hide(address)); }

char* Blocks::add(std::size_t size) noexcept {
  if (count_ == kMost) {
    if (!unchanged(blocks_[oldest_])) harmed(kChanged);
    release(blocks_[oldest_].start);
    oldest_ = (oldest_ + 1) % kMost;
    --count_;
  }
  next_value_ = static_cast<unsigned char>(next_value_ % 250 + 1);
  Block& block = blocks_[(oldest_ + count_++) % kMost];
  block = {take(size), size, static_cast<char>(next_value_)};
  std::memset(block.start, block.value, size);
  return block.start;
}

bool Blocks::unchanged(const Block& block) noexcept {
  return block.start[0] == block.value &&
         std::memcmp(block.start, block.start + 1, block.size - 1) == 0;
}

bool Blocks::unchanged() const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (!unchanged(blocks_[(oldest_ + i) % kMost])) return false;
  }
  return true;
}

void Blocks::verify() noexcept {
  if (!unchanged()) harmed(kChanged);
}

void Blocks::free_all() noexcept {
  for (std::size_t i = 0; i < count_; ++i) release(blocks_[(oldest_ + i) % kMost].start);
  oldest_ = count_ = 0;
}

void other_allocations(const Run& run, std::size_t count) noexcept {
  for (std::size_t i = 1; i <= count; ++i) {
    mixed.add(i % 1000 == 0 ? run.size : 16 + next_random() % 1008);
  }
  mixed.verify();
}

void go_on(const Run& run) noexcept {
  for (std::size_t i = 0; i < kSameSize; ++i) same.add(run.size);
  same.verify();
  same.free_all();
  char* zeroed[kSameSize];
  for (char*& block : zeroed) {
    block = static_cast<char*>(hide(std::calloc(1, run.size)));
    if (block == nullptr) impossible("calloc returned no block");
    if (block[0] != 0 || std::memcmp(block, block + 1, run.size - 1) != 0) {
      harmed("calloc returned a block that is not zero");
    }
  }
  for (char* block : zeroed) release(block);
  other_allocations(run, 5000);
}

Neighbours::Neighbours(const Run& run) noexcept : victim_(nullptr) {
  for (std::size_t i = 0; i < kNeighbours; ++i) {
    if (i == kNeighbours / 2) {
      victim_ = take(run.size);
      std::memset(victim_, 'v', run.size);
    } else {
      around.add(run.size);
    }
  }
}

void Neighbours::finish() noexcept {
  around.verify();
  around.free_all();
  release(victim_);  // last, so that an allocator which reuses the newest block reuses this one
}

void Neighbours::finish_after_stray_write(const Run& run) noexcept {
  const bool is_changed = !around.unchanged();
  release(victim_);
  around.free_all();
  go_on(run);
  if (is_changed) harmed(kChanged);
}

}  // namespace misuse

int main(int count, char** words) {
  using namespace misuse;
  if (count == 2 && std::strcmp(words[1], "--list") == 0) {
    list();
    return 0;
  }
  const Kind* kind = count > 1 ? find(words[1]) : nullptr;
  if (kind == nullptr) {
    std::fputs("misuse: the first argument must be a kind; --list shows them\n", stderr);
    return 2;
  }
  std::uint64_t size = 100, far = 1000000, seed = 1;
  for (int i = 2; i < count; ++i) {
    if (!read_number(words[i], "size", size) && !read_number(words[i], "far", far) &&
        !read_number(words[i], "seed", seed)) {
      std::fprintf(stderr, "misuse: '%s' must be size=, far= or seed= and a number\n", words[i]);
      return 2;
    }
  }
  if (size < 24) {
    std::fputs("misuse: size must be at least 24\n", stderr);
    return 2;
  }
  random_state += seed;
  const Run run{size, far, seed};
  other_allocations(run, 2000);  // a heap in use, as that of a real program
  kind->commit(run);
  say("MISSED", missed_remark);
  return 0;
}
