// SPDX-License-Identifier: Apache-2.0
#include "arch/x86_64/instruction.hpp"

namespace corbel::arch::x86_64 {

void Instruction::read_prefixes() {
  for (;; ++at_) {
    switch (peek()) {
      case 0x66:
        has_66_ = true;
        if (choice_ == Choice::kNone) choice_ = Choice::k66;
        continue;
      case 0xf3:
        choice_ = Choice::kF3;
        continue;
      case 0xf2:
        choice_ = Choice::kF2;
        continue;
      case 0xf0:
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
        continue;
      case 0x64:
      case 0x65:
        has_segment_ = true;
        continue;
      case 0x67:
        has_short_addresses_ = true;
        continue;
      default:
        break;
    }
    break;
  }
  if ((peek() & 0xf0) == 0x40) {
    const unsigned rex = next();
    wide_ = (rex & 8) != 0;
    register_high_ = (rex & 4) << 1;
    index_high_ = (rex & 2) << 2;
    base_high_ = (rex & 1) << 3;
  }
}

bool Instruction::read_vex() {
  constexpr Choice kChoices[] = {Choice::kNone, Choice::k66, Choice::kF3, Choice::kF2};
  is_vex_ = true;
  unsigned last;
  if (next() == 0xc5) {
    map_ = 1;
    last = next();
  } else {
    const unsigned first = next();
    map_ = first & 31;
    index_high_ = (~first & 0x40) >> 3;
    base_high_ = (~first & 0x20) >> 2;
    last = next();
    wide_ = (last & 0x80) != 0;
  }
  vector_bits_ = last >> 2 & 1;
  choice_ = kChoices[last & 3];
  return map_ >= 1 && map_ <= 3;
}

bool Instruction::read_evex() {
  constexpr Choice kChoices[] = {Choice::kNone, Choice::k66, Choice::kF3, Choice::kF2};
  is_evex_ = is_vex_ = true;
  ++at_;
  const unsigned first = next();
  const unsigned second = next();
  const unsigned third = next();
  map_ = first & 7;
  index_high_ = (~first & 0x40) >> 3;
  base_high_ = (~first & 0x20) >> 2;
  wide_ = (second & 0x80) != 0;
  choice_ = kChoices[second & 3];
  vector_bits_ = third >> 5 & 3;
  is_broadcast_ = (third & 0x10) != 0;
  return map_ >= 1 && map_ <= 6;
}

bool Instruction::read_opcode() {
  read_prefixes();
  const unsigned first = peek();
  if (first == 0xc4 || first == 0xc5) {
    if (!read_vex()) return false;
  } else if (first == 0x62) {
    if (!read_evex()) return false;
  } else if (first == 0x0f) {
    ++at_;
    map_ = peek() == 0x38 ? 2 : peek() == 0x3a ? 3 : 1;
    if (map_ != 1) ++at_;
  }
  opcode_ = next();
  return !is_beyond();
}

// ---- lengths ------------------------------------------------------------------------------------

namespace {

// Bits for the opcodes from 16 * i on, the lowest for the first.
using OpcodeSet = std::uint16_t[16];

bool is_in(const OpcodeSet& set, unsigned opcode) {
  return (set[opcode >> 4] >> (opcode & 15) & 1) != 0;
}

// Of one byte.
constexpr OpcodeSet kHasOperand = {0x0f0f, 0x0f0f, 0x0f0f, 0x0f0f, 0,      0,      0x0a08, 0,
                                   0xffff, 0,      0,      0,      0x00c3, 0xff0f, 0,      0xc0c0};
constexpr OpcodeSet kHasByte = {0x1010, 0x1010, 0x1010, 0x1010, 0,      0, 0x0c00, 0xffff,
                                0x0009, 0,      0x0100, 0x00ff, 0x2143, 0, 0x08ff, 0};
// An immediate of two or four bytes.
constexpr OpcodeSet kHasWord = {0x2020, 0x2020, 0x2020, 0x2020, 0,      0, 0x0300, 0,
                                0x0002, 0,      0x0200, 0xff00, 0x0080, 0, 0,      0};
constexpr OpcodeSet kIsNone = {0x40c0, 0xc0c0, 0x8080, 0x8080, 0,      0,      0x0003, 0,
                               0x0004, 0x0400, 0,      0,      0x4000, 0x0070, 0x0400, 0};
// After 0F.
constexpr OpcodeSet kLacksOperand1 = {0x4be0, 0, 0,      0x00ff, 0,      0, 0, 0x0080,
                                      0xffff, 0, 0x0707, 0,      0xff00, 0, 0, 0};
constexpr OpcodeSet kHasByte1 = {0, 0, 0,      0,      0,      0, 0, 0x000f,
                                 0, 0, 0x1010, 0x0400, 0x0074, 0, 0, 0};

}  // namespace

void Instruction::skip_operand() {
  const unsigned modes = next();
  const unsigned mode = modes >> 6;
  unsigned base = modes & 7;
  if (mode == 3) return;
  if (base == 4) {
    base = next() & 7;
    if (base == 5 && mode == 0) at_ += 4;
  } else if (base == 5 && mode == 0) {
    at_ += 4;
  }
  at_ += mode == 1 ? 1 : mode == 2 ? 4 : 0;
}

std::size_t Instruction::length() {
  if (!read_opcode()) return 0;
  const unsigned opcode = opcode_;
  const unsigned what = extension();
  if (map_ == 1) {
    if (!is_in(kLacksOperand1, opcode) || (is_vex_ && opcode != 0x77)) skip_operand();
    if (is_in(kHasByte1, opcode)) ++at_;
    if (opcode >= 0x80 && opcode <= 0x8f && !is_vex_) at_ += 4;
  } else if (map_ != 0) {
    skip_operand();
    if (map_ == 3) ++at_;
  } else {
    if (is_in(kIsNone, opcode)) return 0;
    if (is_in(kHasOperand, opcode)) skip_operand();
    if (is_in(kHasByte, opcode)) ++at_;
    if (is_in(kHasWord, opcode)) at_ += opcode >= 0xb8 && opcode <= 0xbf && wide_ ? 8 : immediate();
    if (opcode == 0xe8 || opcode == 0xe9) at_ += 4;
    if (opcode >= 0xa0 && opcode <= 0xa3) at_ += has_short_addresses_ ? 4 : 8;
    if (opcode == 0xc2 || opcode == 0xca) at_ += 2;
    if (opcode == 0xc8) at_ += 3;
    if ((opcode == 0xf6 || opcode == 0xf7) && what < 2) at_ += opcode == 0xf6 ? 1 : immediate();
  }
  return is_beyond() ? 0 : at_;
}

std::size_t length_of(const CodeView& code) { return Instruction(code).length(); }

std::size_t length_before(const CodeView& code) {
  constexpr std::size_t kMaxLength = 15;
  constexpr std::size_t kWindow = 48;
  constexpr std::size_t kToMeet = 12;  // the bytes after which chains have nearly always met
  const std::size_t window = code.before < kWindow ? code.before : kWindow;
  // For each distance from the end, the length of the last instruction of the chain from there.
  unsigned char last[kWindow + 1] = {};
  unsigned votes[kMaxLength + 1] = {};
  for (std::size_t distance = 1; distance <= window; ++distance) {
    const CodeView view{code.at - distance, 0, distance, 0};
    const std::size_t length = length_of(view);
    if (length == 0) continue;
    last[distance] =
        static_cast<unsigned char>(length == distance ? length : last[distance - length]);
    if (distance >= kToMeet || distance == window) ++votes[last[distance]];
  }
  std::size_t best = 0;
  unsigned most = 0;
  for (std::size_t length = 1; length <= kMaxLength; ++length) {
    if (votes[length] > most) {
      most = votes[length];
      best = length;
    }
  }
  return best;
}

}  // namespace corbel::arch::x86_64
