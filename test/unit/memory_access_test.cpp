// SPDX-License-Identifier: Apache-2.0
// The memory operands of instructions. The encodings are those of the GNU assembler.
#include "arch/memory_access.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "code_bytes.hpp"

namespace corbel::arch {
namespace {

using test::bytes_of;

enum class Use { kNone, kRead, kWrite, kBoth };

struct Case {
  const char* text;
  const char* code;
  std::uintptr_t address;
  unsigned size;
  Use use;
};

constexpr std::uintptr_t kPc = 0x400000;

// rax 0x1000, rdx 0x2000, rcx 0x3000, rbx 0x4000, rsi 0x5000, rdi 0x6000, rbp 0x7000, rsp 0x8000,
// r8 0x9000, ...; x0 0x1000, x1 0x2000, ...
std::vector<std::uintptr_t> make_registers() {
  std::vector<std::uintptr_t> registers;
  for (unsigned i = 1; i <= 32; ++i) registers.push_back(i * 0x1000);
  return registers;
}
const std::vector<std::uintptr_t> kRegisters = make_registers();

CodeView view_of(const std::vector<unsigned char>& bytes) {
  return {bytes.data(), 0, bytes.size(), kPc};
}

void expect(const Case& c, bool found, const MemoryAccess& access) {
  SCOPED_TRACE(c.text);
  ASSERT_EQ(found, c.use != Use::kNone);
  if (!found) return;
  EXPECT_EQ(access.address, c.address);
  EXPECT_EQ(access.size, c.size);
  EXPECT_EQ(access.reads, c.use == Use::kRead || c.use == Use::kBoth);
  EXPECT_EQ(access.writes, c.use == Use::kWrite || c.use == Use::kBoth);
}

constexpr Case kX86Cases[] = {
    {"mov (%rdi),%rax", "48 8b 07", 0x6000, 8, Use::kRead},
    {"mov 0x10(%rdi,%rsi,4),%eax", "8b 44 b7 10", 0x1a010, 4, Use::kRead},
    {"mov %eax,-8(%rbp)", "89 45 f8", 0x6ff8, 4, Use::kWrite},
    {"mov %ax,(%r13)", "66 41 89 45 00", 0xe000, 2, Use::kWrite},
    {"mov %cl,0x12345678(%r12)", "41 88 8c 24 78 56 34 12", 0x12352678, 1, Use::kWrite},
    {"mov 0x100(%rip),%rdx", "48 8b 15 00 01 00 00", 0x400107, 8, Use::kRead},
    {"movl $7,0x20(%rip)", "c7 05 20 00 00 00 07 00 00 00", 0x40002a, 4, Use::kWrite},
    {"movw $7,(%rsp)", "66 c7 04 24 07 00", 0x8000, 2, Use::kWrite},
    {"movb $1,(%rax,%rax)", "c6 04 00 01", 0x2000, 1, Use::kWrite},
    {"movq $-1,(%r8,%r15,8)", "4b c7 04 f8 ff ff ff ff", 0x89000, 8, Use::kWrite},
    {"addl $1,(%rdx)", "83 02 01", 0x2000, 4, Use::kBoth},
    {"incq (%rcx)", "48 ff 01", 0x3000, 8, Use::kBoth},
    {"lock xadd %rax,(%rbx)", "f0 48 0f c1 03", 0x4000, 8, Use::kBoth},
    {"lock incl 0x40(%rdi)", "f0 ff 47 40", 0x6040, 4, Use::kBoth},
    {"lock cmpxchg %rcx,(%rsi)", "f0 48 0f b1 0e", 0x5000, 8, Use::kBoth},
    {"lock cmpxchg16b (%rdi)", "f0 48 0f c7 0f", 0x6000, 16, Use::kBoth},
    {"xchg %eax,(%rdi)", "87 07", 0x6000, 4, Use::kBoth},
    {"cmpl $0x12345678,0x8(%rbx)", "81 7b 08 78 56 34 12", 0x4008, 4, Use::kRead},
    {"cmp %rax,(%rdi)", "48 39 07", 0x6000, 8, Use::kRead},
    {"testb $1,(%rdi)", "f6 07 01", 0x6000, 1, Use::kRead},
    {"imul $100,(%rdi),%rax", "48 6b 07 64", 0x6000, 8, Use::kRead},
    {"shlq $3,(%rdi)", "48 c1 27 03", 0x6000, 8, Use::kBoth},
    {"negl (%rdi)", "f7 1f", 0x6000, 4, Use::kBoth},
    {"idivq (%rdi)", "48 f7 3f", 0x6000, 8, Use::kRead},
    {"movzbl (%rdi,%rax),%ecx", "0f b6 0c 07", 0x7000, 1, Use::kRead},
    {"movswq 2(%rdi),%rcx", "48 0f bf 4f 02", 0x6002, 2, Use::kRead},
    {"movslq (%rdi),%rcx", "48 63 0f", 0x6000, 4, Use::kRead},
    {"cmovne (%rdi),%rcx", "48 0f 45 0f", 0x6000, 8, Use::kRead},
    {"setne (%rdi)", "0f 95 07", 0x6000, 1, Use::kWrite},
    {"btsl $5,(%rdi)", "0f ba 2f 05", 0x6000, 4, Use::kBoth},
    {"popcnt (%rdi),%rax", "f3 48 0f b8 07", 0x6000, 8, Use::kRead},
    {"call *0x18(%rax)", "ff 50 18", 0x1018, 8, Use::kRead},
    {"push (%rdi)", "ff 37", 0x6000, 8, Use::kRead},
    {"movups (%rdi),%xmm0", "0f 10 07", 0x6000, 16, Use::kRead},
    {"movaps %xmm9,0x20(%r9)", "45 0f 29 49 20", 0xa020, 16, Use::kWrite},
    {"movsd (%rdi),%xmm1", "f2 0f 10 0f", 0x6000, 8, Use::kRead},
    {"movss %xmm1,(%rdi)", "f3 0f 11 0f", 0x6000, 4, Use::kWrite},
    {"addsd 8(%rdi),%xmm1", "f2 0f 58 4f 08", 0x6008, 8, Use::kRead},
    {"mulps (%rdi),%xmm1", "0f 59 0f", 0x6000, 16, Use::kRead},
    {"movq %xmm0,(%rdi)", "66 0f d6 07", 0x6000, 8, Use::kWrite},
    {"movd (%rdi),%xmm0", "66 0f 6e 07", 0x6000, 4, Use::kRead},
    {"movdqu (%rdi),%xmm0", "f3 0f 6f 07", 0x6000, 16, Use::kRead},
    {"movntdq %xmm0,(%rdi)", "66 0f e7 07", 0x6000, 16, Use::kWrite},
    {"pshufd $1,(%rdi),%xmm0", "66 0f 70 07 01", 0x6000, 16, Use::kRead},
    {"cvtsi2sdq (%rdi),%xmm0", "f2 48 0f 2a 07", 0x6000, 8, Use::kRead},
    {"ucomisd (%rdi),%xmm0", "66 0f 2e 07", 0x6000, 8, Use::kRead},
    {"vmovdqu (%rdi,%rcx,2),%ymm3", "c5 fe 6f 1c 4f", 0xc000, 32, Use::kRead},
    {"vmovups %ymm3,-0x40(%r11)", "c4 c1 7c 11 5b c0", 0xbfc0, 32, Use::kWrite},
    {"vaddpd (%rdi),%ymm1,%ymm2", "c5 f5 58 17", 0x6000, 32, Use::kRead},
    {"vfmadd231sd (%rdi),%xmm1,%xmm2", "c4 e2 f1 b9 17", 0x6000, 8, Use::kRead},
    {"vfmadd231ps (%rdi),%ymm1,%ymm2", "c4 e2 75 b8 17", 0x6000, 32, Use::kRead},
    {"vextractf128 $1,%ymm0,(%rdi)", "c4 e3 7d 19 07 01", 0x6000, 16, Use::kWrite},
    {"vbroadcastss (%rdi),%ymm0", "c4 e2 7d 18 07", 0x6000, 4, Use::kRead},
    {"vmovdqu64 0x80(%rdi),%zmm1", "62 f1 fe 48 6f 4f 02", 0x6080, 64, Use::kRead},
    {"vmovups %zmm1,0x1000(%rdi)", "62 f1 7c 48 11 4f 40", 0x7000, 64, Use::kWrite},
    {"stosb", "aa", 0x6000, 1, Use::kWrite},
    {"rep movsq", "f3 48 a5", 0x6000, 8, Use::kWrite},
    {"fldl (%rdi)", "dd 07", 0x6000, 8, Use::kRead},
    {"fstpt (%rdi)", "db 3f", 0x6000, 10, Use::kWrite},
    {"movbe (%rdi),%eax", "0f 38 f0 07", 0x6000, 4, Use::kRead},
    {"crc32q (%rdi),%rax", "f2 48 0f 38 f1 07", 0x6000, 8, Use::kRead},
    {"lea (%rdi),%rax", "48 8d 07", 0x0, 0, Use::kNone},
    {"mov %fs:0,%rax", "64 48 8b 04 25 00 00 00 00", 0x0, 0, Use::kNone},
    {"nopw (%rax,%rax)", "66 0f 1f 04 00", 0x0, 0, Use::kNone},
    {"add %rax,%rbx", "48 01 c3", 0x0, 0, Use::kNone},
    {"vpgatherdd %ymm2,(%rdi,%ymm1),%ymm0", "c4 e2 6d 90 04 0f", 0x0, 0, Use::kNone},
    {"prefetcht0 (%rdi)", "0f 18 0f", 0x0, 0, Use::kNone},
    {"ret", "c3", 0x0, 0, Use::kNone},
    {"mov (%eax),%ecx", "67 8b 08", 0x0, 0, Use::kNone},
};

constexpr Case kArmCases[] = {
    {"ldr x0,[x1]", "20 00 40 f9", 0x2000, 8, Use::kRead},
    {"ldr w0,[x1,#16]", "20 10 40 b9", 0x2010, 4, Use::kRead},
    {"str x0,[x2,#4088]", "40 fc 07 f9", 0x3ff8, 8, Use::kWrite},
    {"strb w0,[x2,#1]", "40 04 00 39", 0x3001, 1, Use::kWrite},
    {"ldrh w0,[sp,#2]", "e0 07 40 79", 0x20002, 2, Use::kRead},
    {"ldrsw x0,[x3,#4]", "60 04 80 b9", 0x4004, 4, Use::kRead},
    {"ldur x0,[x1,#-8]", "20 80 5f f8", 0x1ff8, 8, Use::kRead},
    {"stur w0,[x1,#-4]", "20 c0 1f b8", 0x1ffc, 4, Use::kWrite},
    {"ldr x0,[x1],#8", "20 84 40 f8", 0x2000, 8, Use::kRead},
    {"str x0,[x1,#-16]!", "20 0c 1f f8", 0x1ff0, 8, Use::kWrite},
    {"ldr x0,[x1,x2]", "20 68 62 f8", 0x5000, 8, Use::kRead},
    {"ldr w0,[x1,x2,lsl #2]", "20 78 62 b8", 0xe000, 4, Use::kRead},
    {"str x0,[x1,w2,uxtw #3]", "20 58 22 f8", 0x1a000, 8, Use::kWrite},
    {"ldr q0,[x1,#32]", "20 08 c0 3d", 0x2020, 16, Use::kRead},
    {"str d1,[x2]", "41 00 00 fd", 0x3000, 8, Use::kWrite},
    {"str s1,[x2,#4]", "41 04 00 bd", 0x3004, 4, Use::kWrite},
    {"ldp x0,x1,[x2,#16]", "40 04 41 a9", 0x3010, 16, Use::kRead},
    {"stp x29,x30,[sp,#-32]!", "fd 7b be a9", 0x1ffe0, 16, Use::kWrite},
    {"ldp w0,w1,[x2],#8", "40 04 c1 28", 0x3000, 8, Use::kRead},
    {"stp q0,q1,[x3,#64]", "60 04 02 ad", 0x4040, 32, Use::kWrite},
    {"ldpsw x0,x1,[x2]", "40 04 40 69", 0x3000, 8, Use::kRead},
    {"ldnp x0,x1,[x2,#16]", "40 04 41 a8", 0x3010, 16, Use::kRead},
    {"ldxr x0,[x1]", "20 7c 5f c8", 0x2000, 8, Use::kRead},
    {"stlxr w2,w0,[x1]", "20 fc 02 88", 0x2000, 4, Use::kWrite},
    {"ldar w0,[x1]", "20 fc df 88", 0x2000, 4, Use::kRead},
    {"stlr x0,[x1]", "20 fc 9f c8", 0x2000, 8, Use::kWrite},
    {"ldaxp x0,x1,[x2]", "40 84 7f c8", 0x3000, 16, Use::kRead},
    {"cas w0,w1,[x2]", "41 7c a0 88", 0x3000, 4, Use::kBoth},
    {"casal x0,x1,[x2]", "41 fc e0 c8", 0x3000, 8, Use::kBoth},
    {"casp x0,x1,x2,x3,[x4]", "82 7c 20 48", 0x5000, 16, Use::kBoth},
    {"ldadd x0,x1,[x2]", "41 00 20 f8", 0x3000, 8, Use::kBoth},
    {"ldaddal w0,w1,[x2]", "41 00 e0 b8", 0x3000, 4, Use::kBoth},
    {"swpb w0,w1,[x2]", "41 80 20 38", 0x3000, 1, Use::kBoth},
    {"ldset x0,x1,[x2]", "41 30 20 f8", 0x3000, 8, Use::kBoth},
    {"ldapr x0,[x1]", "20 c0 bf f8", 0x2000, 8, Use::kRead},
    {"ldapur w0,[x1,#4]", "20 40 40 99", 0x2004, 4, Use::kRead},
    {"stlur x0,[x1,#-8]", "20 80 1f d9", 0x1ff8, 8, Use::kWrite},
    {"ld1 {v0.16b},[x2],#16", "40 70 df 4c", 0x3000, 16, Use::kRead},
    {"st1 {v0.16b,v1.16b},[x3]", "60 a0 00 4c", 0x4000, 32, Use::kWrite},
    {"ld4 {v0.4s-v3.4s},[x3]", "60 08 40 4c", 0x4000, 64, Use::kRead},
    {"prfm pldl1keep,[x1]", "20 00 80 f9", 0x0, 0, Use::kNone},
    {"add x0,x1,x2", "20 00 02 8b", 0x0, 0, Use::kNone},
    {"ret", "c0 03 5f d6", 0x0, 0, Use::kNone},
    {"ldr x0,.+16", "80 00 00 58", 0x0, 0, Use::kNone},
};

TEST(MemoryAccessTest, OperandsOfX86) {
  for (const Case& c : kX86Cases) {
    const std::vector<unsigned char> bytes = bytes_of(c.code);
    MemoryAccess access;
    const bool found = x86_64::decode_access(view_of(bytes), kRegisters.data(), &access);
    expect(c, found, access);
    EXPECT_EQ(x86_64::length_of(view_of(bytes)), bytes.size()) << c.text;
  }
}

TEST(MemoryAccessTest, OperandsOfArm) {
  for (const Case& c : kArmCases) {
    MemoryAccess access;
    const std::vector<unsigned char> bytes = bytes_of(c.code);
    const bool found = aarch64::decode_access(view_of(bytes), kRegisters.data(), &access);
    expect(c, found, access);
  }
}

// Reads nothing beyond what there is.
TEST(MemoryAccessTest, CodeThatEndsEarly) {
  for (const Case& c : kX86Cases) {
    const std::vector<unsigned char> bytes = bytes_of(c.code);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<unsigned char> part(bytes.begin(), bytes.begin() + long(size));
      EXPECT_EQ(x86_64::length_of(view_of(part)), 0U) << c.text << " " << size;
      MemoryAccess access;
      EXPECT_FALSE(x86_64::decode_access(view_of(part), kRegisters.data(), &access)) << c.text;
    }
  }
}

// The instructions before are found among all the bytes where one could begin.
TEST(MemoryAccessTest, TheInstructionBefore) {
  std::vector<unsigned char> code;
  unsigned right = 0;
  unsigned all = 0;
  for (int round = 0; round < 4; ++round) {
    for (const Case& c : kX86Cases) {
      const std::vector<unsigned char> bytes = bytes_of(c.code);
      code.insert(code.end(), bytes.begin(), bytes.end());
      if (code.size() < 64) continue;
      const CodeView view{code.data() + code.size(), 64, 0, kPc};
      ++all;
      right += x86_64::length_before(view) == bytes.size() ? 1 : 0;
    }
  }
  EXPECT_GT(right * 100, all * 97);
}

MemoryAccess found_in_x86(const std::string& before, const std::string& after, bool* found) {
  std::string padding;
  for (int i = 0; i < 20; ++i) padding += "48 01 c3 ";  // add %rax,%rbx
  const std::vector<unsigned char> code = bytes_of(padding + before + after);
  const std::size_t at = bytes_of(padding + before).size();
  MemoryAccess access;
  *found = x86_64::find_access({code.data() + at, at, code.size() - at, kPc}, kRegisters.data(),
                               &access);
  return access;
}

TEST(MemoryAccessTest, AnInterruptStopsAfterWhatTookLong) {
  bool found = false;
  // lock xadd %rax,(%rbx); mov (%rdi),%rax
  MemoryAccess access = found_in_x86("f0 48 0f c1 03 ", "48 8b 07", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(access.address, 0x4000U);
  // add %rax,%rbx; mov (%rdi),%rax
  access = found_in_x86("", "48 8b 07", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(access.address, 0x6000U);
  // mov 0x100(%rip),%rdx: relative to the instruction after it
  access = found_in_x86("48 8b 15 00 01 00 00 ", "48 01 c3", &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(access.address, kPc + 0x100);
  // mov (%rdi),%rdi: the address is lost
  found_in_x86("48 8b 3f ", "48 8b 07", &found);
  EXPECT_FALSE(found);
  // mov (%rbx,%rdi),%edi
  found_in_x86("8b 3c 3b ", "48 8b 07", &found);
  EXPECT_FALSE(found);
}

TEST(MemoryAccessTest, AnAtomicOperationBeforeOnArm) {
  const std::vector<unsigned char> code = bytes_of("41 00 20 f8 20 00 02 8b");  // ldadd; add
  MemoryAccess access;
  EXPECT_TRUE(aarch64::find_access({code.data() + 4, 4, 4, kPc}, kRegisters.data(), &access));
  EXPECT_EQ(access.address, 0x3000U);
  EXPECT_TRUE(access.writes);
}

}  // namespace
}  // namespace corbel::arch
