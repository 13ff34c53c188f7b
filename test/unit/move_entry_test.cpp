// SPDX-License-Identifier: Apache-2.0
// The first instructions of functions, moved elsewhere. The code of the cases is that of
// Microsoft's and Wine's libraries where they have such, and the GNU assembler's else. Works on any
// system, but runs the moved code on x86-64 alone.
#include "proxy/windows/move_entry.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "code_bytes.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>
#endif

namespace corbel::proxy {
namespace {

using test::bytes_of;

constexpr std::uintptr_t kFrom = 0x180001000;
constexpr std::uintptr_t kTo = 0x180101000;  // 0x100000 above

std::string text_of(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    char two[4];
    std::snprintf(two, sizeof two, "%s%02x", i == 0 ? "" : " ", bytes[i]);
    text += two;
  }
  return text;
}

MovedEntry move(const std::string& code, std::string* copy, std::uintptr_t to = kTo) {
  const std::vector<unsigned char> bytes = bytes_of(code);
  unsigned char copied[kMaxCopied];
  const MovedEntry moved =
      move_entry({bytes.data(), 0, bytes.size(), kFrom}, to, Calls::kMoved, copied);
  *copy = text_of(copied, moved.size);
  return moved;
}

struct Moved {
  const char* what;
  const char* code;
  std::size_t first, moved;
  const char* copy;
};

// The distance from the end of the copy to what follows the moved instructions is -0x100000 less
// what the jump back takes, and differs where the copy is longer than the original.
const Moved kMoved[] = {
    {"push; push; sub", "56 53 48 83 ec 28 48 89 ce c3", 1, 6, "56 53 48 83 ec 28 e9 fb ff ef ff"},
    {"the place for a patch", "48 8d a4 24 00 00 00 00 48 83 ec 28", 8, 8,
     "48 8d a4 24 00 00 00 00 e9 fb ff ef ff"},
    {"a store of a constant", "c7 44 24 10 00 00 00 00 8b 44 24 10", 8, 8,
     "c7 44 24 10 00 00 00 00 e9 fb ff ef ff"},
    {"stores above the return address", "48 89 5c 24 08 57 48 83 ec 20", 5, 5,
     "48 89 5c 24 08 e9 fb ff ef ff"},
    {"a load at a distance", "53 48 8b 05 34 12 00 00 c3", 1, 8,
     "53 48 8b 05 34 12 f0 ff e9 fb ff ef ff"},
    {"a test of a constant at a distance", "f6 05 34 12 00 00 08 75 1b", 7, 7,
     "f6 05 34 12 f0 ff 08 e9 fb ff ef ff"},
    {"a jump", "e9 ab 3e 00 00 cc cc", 5, 5, "e9 ab 3e f0 ff"},
    {"a jump back", "e9 ab ff ff ff cc cc", 5, 5, "e9 ab ff ef ff"},
    {"a short jump and padding", "eb 40 cc cc cc cc", 2, 5, "e9 3d 00 f0 ff"},
    {"a jump through a pointer", "ff 25 34 12 00 00 cc cc", 6, 6, "ff 25 34 12 f0 ff"},
    {"a jump through a register, and padding", "ff e0 90 90 cc", 2, 5, "ff e0"},
    {"a return and padding", "33 c0 c3 cc cc cc", 2, 5, "33 c0 c3"},
    {"a short branch", "48 85 c9 74 10 c3", 3, 5, "48 85 c9 0f 84 0c 00 f0 ff e9 f7 ff ef ff"},
    {"a long branch", "85 c9 0f 85 10 00 00 00 c3", 2, 8, "85 c9 0f 85 10 00 f0 ff e9 fb ff ef ff"},
    // push of the address after the call, a jump, the address
    {"a call", "48 83 ec 28 e8 97 ff ff ff 48 83 c4 28 c3", 4, 9,
     "48 83 ec 28 ff 35 05 00 00 00 e9 91 ff ef ff 09 10 00 80 01 00 00 00"},
    {"a call through a pointer", "ff 15 34 12 00 00 c3", 6, 6,
     "ff 35 06 00 00 00 ff 25 2e 12 f0 ff 06 10 00 80 01 00 00 00"},
    {"the target of indirect branches", "f3 0f 1e fa 53 c3", 4, 5, "f3 0f 1e fa 53 e9 fb ff ef ff"},
    {"the place for a patch of two bytes", "8b ff 55 48 8b ec 5d c3", 2, 6,
     "8b ff 55 48 8b ec e9 fb ff ef ff"},
    {"a branch with a hint", "2e 74 10 48 89 c8 c3", 3, 6,
     "0f 84 0d 00 f0 ff 48 89 c8 e9 f8 ff ef ff"},
    {"a jump that keeps the bounds", "f2 e9 ab 3e 00 00 cc cc", 6, 6, "e9 ac 3e f0 ff"},
    {"a short jump with a prefix", "48 eb 40 cc cc cc", 3, 5, "e9 3e 00 f0 ff"},
    {"a jump that needs no mark at its target", "3e ff e0 cc cc", 3, 5, "3e ff e0"},
    {"a vector", "0f 11 44 24 08 c3", 5, 5, "0f 11 44 24 08 e9 fb ff ef ff"},
    {"a thread's data", "65 48 8b 04 25 58 00 00 00", 9, 9,
     "65 48 8b 04 25 58 00 00 00 e9 fb ff ef ff"},
    {"an address of its own, which a branch may lead to", "48 83 ec 28 90 75 f9 c3", 4, 5,
     "48 83 ec 28 90 e9 fb ff ef ff"},
};

TEST(MoveEntryTest, InstructionsDoTheSameElsewhere) {
  for (const Moved& c : kMoved) {
    std::string copy;
    const MovedEntry moved = move(c.code, &copy);
    EXPECT_EQ(moved.refusal, nullptr) << c.what << ": " << moved.refusal;
    EXPECT_EQ(moved.first, c.first) << c.what;
    EXPECT_EQ(moved.moved, c.moved) << c.what;
    EXPECT_EQ(copy, c.copy) << c.what;
  }
}

struct Refused {
  const char* what;
  const char* code;
  const char* why;
};

constexpr const char* kUnknown = "its first instructions are not understood";
constexpr const char* kBack = "it branches back into its first instructions";
constexpr const char* kShort = "it is shorter than a jump";

const Refused kRefused[] = {
    {"no instruction", "06 90 90 90 90", kUnknown},
    {"the end of the code within an instruction", "56 53 48 83", kUnknown},
    {"nothing", "", kUnknown},
    {"a call through a register", "ff d0 90 90 90 90", kUnknown},
    {"a call through memory", "ff 50 08 90 90 90", kUnknown},
    {"a loop instruction", "e2 10 90 90 90", kUnknown},
    {"a branch by rcx", "e3 10 90 90 90", kUnknown},
    {"a jump of 16 bits", "66 e9 ab 3e 00 00 cc cc", kUnknown},
    {"a branch of 16 bits", "66 74 10 48 89 c8 c3", kUnknown},
    {"a call of 16 bits", "66 e8 ab 3e 00 00 c3", kUnknown},
    {"a return of 16 bits", "66 c3 90 90 90", kUnknown},
    {"a system call", "4c 8b d1 0f 05 c3", kUnknown},
    {"a breakpoint", "cc 90 90 90 90 90", kUnknown},
    {"a locked instruction", "f0 48 0f b1 11 c3", kUnknown},
    {"short addresses", "67 48 8b 01 90 90", kUnknown},
    {"a vector instruction of AVX", "c5 f8 11 44 24 08 c3", kUnknown},
    {"a string instruction", "48 ab 90 90 90", kUnknown},
    {"an address of eight bytes", "48 a1 00 00 00 00 00 00 00 00", kUnknown},
    {"an exchange of stacks", "c9 90 90 90 90", kUnknown},
    {"a transaction", "c7 f8 00 00 00 00", kUnknown},
    {"a return with code after it", "33 c0 c3 53 48 83", kShort},
    {"a return and the end", "33 c0 c3", kShort},
    {"a jump with code after it", "eb 40 53 48 83 ec 28", kShort},
    {"a short branch among them", "48 85 c9 74 fd c3", kBack},
    {"a short branch to their beginning", "48 85 c9 74 fb c3", kBack},
    {"a jump to itself", "eb fe cc cc cc cc", kBack},
    {"a call of itself", "48 83 ec 28 e8 f7 ff ff ff c3", kBack},
    {"a branch of the rest to the second of them", "48 83 ec 28 90 90 75 fc c3", kBack},
    {"a long branch of the rest", "48 83 ec 28 90 90 0f 85 f8 ff ff ff c3", kBack},
    {"a branch of the rest with a hint", "48 83 ec 28 90 90 2e 75 fa c3", kBack},
    {"a loop instruction of the rest", "48 83 ec 28 90 90 e2 fb c3", kBack},
    {"a branch of the rest by ecx", "48 83 ec 28 90 90 67 e3 f9 c3", kBack},
    {"a jump of the rest", "56 53 48 83 ec 28 c3 eb f8", kBack},
};

TEST(MoveEntryTest, WhatIsNotUnderstoodIsRefused) {
  for (const Refused& c : kRefused) {
    std::string copy;
    const MovedEntry moved = move(c.code, &copy);
    EXPECT_STREQ(moved.refusal, c.why) << c.what << ": " << copy;
    EXPECT_EQ(moved.size, 0U) << c.what;
  }
}

TEST(MoveEntryTest, WhatIsOutOfReachIsRefused) {
  std::string copy;
  // 2 GiB and one byte
  EXPECT_STREQ(move("53 48 8b 05 34 12 00 00 c3", &copy, kFrom + (std::uintptr_t(3) << 30)).refusal,
               "what its first instructions refer to is too far away");
  EXPECT_EQ(move("53 48 8b 05 34 12 00 00 c3", &copy, kFrom + 0x7ff00000).refusal, nullptr);
}

TEST(MoveEntryTest, CallsAreRefusedWhereShadowStacksAre) {
  for (const Moved& c : kMoved) {
    const std::vector<unsigned char> bytes = bytes_of(c.code);
    unsigned char copied[kMaxCopied];
    const MovedEntry moved =
        move_entry({bytes.data(), 0, bytes.size(), kFrom}, kTo, Calls::kRefused, copied);
    EXPECT_EQ(moved.refusal != nullptr, std::strncmp(c.what, "a call", 6) == 0) << c.what;
  }
}

// Each is cut at each length: whatever is moved must be of whole instructions of the function.
TEST(MoveEntryTest, NothingIsReadBeyondTheFunction) {
  for (const Moved& c : kMoved) {
    const std::vector<unsigned char> bytes = bytes_of(c.code);
    for (std::size_t size = 0; size < c.moved; ++size) {
      // Of its own, so that a sanitizer sees a read after it.
      const std::vector<unsigned char> part(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
      unsigned char copied[kMaxCopied];
      EXPECT_NE(move_entry({part.data(), 0, size, kFrom}, kTo, Calls::kMoved, copied).refusal,
                nullptr)
          << c.what << " " << size;
    }
  }
}

#if defined(__x86_64__) && defined(__linux__)

// Runs functions through the copies of their entries, after the jump has been written over those.
class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    area_ = static_cast<unsigned char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(area_, MAP_FAILED);
  }
  void TearDown() override { munmap(area_, 8192); }

  // The function of one number at the beginning of `code`, moved.
  long run(const std::string& code, long argument) {
    const std::vector<unsigned char> bytes = bytes_of(code);
    std::memcpy(area_, bytes.data(), bytes.size());
    unsigned char copied[kMaxCopied];
    unsigned char* const to = area_ + 4096;
    const MovedEntry moved =
        move_entry({area_, 0, bytes.size(), reinterpret_cast<std::uintptr_t>(area_)},
                   reinterpret_cast<std::uintptr_t>(to), Calls::kMoved, copied);
    EXPECT_EQ(moved.refusal, nullptr);
    if (moved.refusal != nullptr) return -1;
    std::memcpy(to, copied, moved.size);
    std::memset(area_, 0xcc, kJumpSize);  // a trap, if it were run
    return reinterpret_cast<long (*)(long)>(to)(argument);
  }

  unsigned char* area_ = nullptr;
};

TEST_F(RunTest, PlainInstructions) {
  // push %rbx; mov %rdi,%rbx; lea 5(%rbx),%rax; pop %rbx; ret
  EXPECT_EQ(run("53 48 89 fb 48 8d 43 05 5b c3", 37), 42);
}

TEST_F(RunTest, AnOperandAtADistance) {
  // mov 3(%rip),%eax; add %edi,%eax; ret; 40
  EXPECT_EQ(run("8b 05 03 00 00 00 01 f8 c3 28 00 00 00", 2), 42);
}

TEST_F(RunTest, ABranchIsTakenOrNot) {
  // test %rdi,%rdi; je 1f; lea 1(%rdi),%rax; ret; 1: mov $7,%eax; ret
  const char* const code = "48 85 ff 74 05 48 8d 47 01 c3 b8 07 00 00 00 c3";
  EXPECT_EQ(run(code, 41), 42);
  EXPECT_EQ(run(code, 0), 7);
}

TEST_F(RunTest, ACallReturnsToTheOriginal) {
  // sub $8,%rsp; call 1f; add $8,%rsp; ret; 1: mov (%rsp),%rax; ret
  const long returned_to = run("48 83 ec 08 e8 05 00 00 00 48 83 c4 08 c3 48 8b 04 24 c3", 0);
  EXPECT_EQ(returned_to, reinterpret_cast<long>(area_) + 9);
}

TEST_F(RunTest, ACallThroughAPointerReturnsToTheOriginal) {
  // push %rbx; call *10(%rip); pop %rbx; inc %rax; ret; 1: lea 40(%rdi),%rax; ret; the address of 1
  std::string code = "53 ff 15 0a 00 00 00 5b 48 ff c0 c3 48 8d 47 28 c3";
  const std::uintptr_t target = reinterpret_cast<std::uintptr_t>(area_) + 12;
  code += " " + text_of(reinterpret_cast<const unsigned char*>(&target), sizeof target);
  EXPECT_EQ(run(code, 1), 42);
}

#endif

}  // namespace
}  // namespace corbel::proxy
