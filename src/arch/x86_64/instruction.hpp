// SPDX-License-Identifier: Apache-2.0
// The form of an instruction of x86-64 (Intel SDM, volume 2, chapter 2): its prefixes, its opcode,
// and how long it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arch/memory_access.hpp"

namespace corbel::arch::x86_64 {

// The prefix that chooses among the instructions of an opcode of the maps after 0F.
enum class Choice : unsigned { kNone, k66, kF3, kF2 };

class Instruction {
 public:
  explicit Instruction(const CodeView& code) : code_(code) {}

  // 0 if it is none.
  std::size_t length();

 protected:
  unsigned peek() const { return at_ < code_.after ? code_.at[at_] : 0; }
  unsigned next() {
    const unsigned byte = peek();
    ++at_;
    return byte;
  }
  bool is_beyond() const { return at_ > code_.after || at_ > 15; }

  // Reads up to the opcode. False if it is no instruction.
  bool read_opcode();

  unsigned extension() const { return peek() >> 3 & 7; }  // of the opcode, in the ModRM byte
  unsigned immediate() const { return !wide_ && has_66_ ? 2 : 4; }  // for a general register

  CodeView code_;
  std::size_t at_ = 0;
  unsigned map_ = 0;  // of opcodes: 0 for those of one byte, 1 to 3 for those after 0F, 0F38, 0F3A
  unsigned opcode_ = 0;
  Choice choice_ = Choice::kNone;
  bool has_66_ = false;
  bool has_segment_ = false;
  bool has_short_addresses_ = false;
  bool wide_ = false;
  bool is_vex_ = false;  // or EVEX
  bool is_evex_ = false;
  bool is_broadcast_ = false;
  // 8 if the register is one of the upper eight.
  unsigned register_high_ = 0, index_high_ = 0, base_high_ = 0;
  unsigned vector_bits_ = 0;  // 0, 1, 2: 16, 32, 64 bytes

 private:
  void read_prefixes();
  bool read_vex();
  bool read_evex();
  void skip_operand();
};

}  // namespace corbel::arch::x86_64
