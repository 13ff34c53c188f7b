// SPDX-License-Identifier: Apache-2.0
#include "proxy/windows/move_entry.hpp"

#include <string.h>

#include "arch/x86_64/instruction.hpp"

namespace corbel::proxy {
namespace {

using arch::x86_64::Choice;

enum class Kind {
  kRefused,
  kPlain,        // does the same anywhere
  kOperand,      // its operand lies at a distance from it
  kConditional,  // branches
  kLoop,         // branches, and has no form for longer distances
  kJump,
  kCall,
  kJumpThrough,  // to the address in its operand, which lies at a distance from it
  kCallThrough,
  kEnd,  // does the same anywhere, and nothing after it runs
};

std::int64_t number_at(const unsigned char* at, std::size_t size) {
  if (size == 1) return static_cast<signed char>(*at);
  std::int32_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

class Movable : public arch::x86_64::Instruction {
 public:
  explicit Movable(const arch::CodeView& code) : Instruction(code) {}

  Kind kind() {
    if (code_.after == 0 || !read_opcode()) return Kind::kRefused;
    if (is_vex_) return Kind::kRefused;
    operand_at_ = at_;
    const Kind kind = map_ == 0 ? one_byte() : map_ == 1 ? two_bytes() : Kind::kRefused;
    if (has_short_addresses_ && kind != Kind::kLoop) return Kind::kRefused;
    // With this prefix AMD's processors branch to addresses of 16 bits, Intel's do not.
    if (has_66_ && kind != Kind::kPlain && kind != Kind::kOperand) return Kind::kRefused;
    return kind;
  }

  // Where the four bytes of the distance of a kOperand, kJumpThrough or kCallThrough lie.
  std::size_t distance_at() const { return operand_at_ + 1; }
  // The condition of a kConditional.
  unsigned condition() const { return opcode_ & 15; }

  // Where a branch of `length` bytes leads, with the distance as its last ones.
  std::uintptr_t target(std::size_t length) const {
    const bool is_short = map_ == 0 && opcode_ != 0xe8 && opcode_ != 0xe9;
    const std::size_t size = is_short ? 1 : 4;
    return code_.address + length + std::uintptr_t(number_at(code_.at + length - size, size));
  }

 private:
  // With an operand by a ModRM byte (Intel SDM, volume 2, table 2-7).
  Kind operand() const { return (peek() & 0xc7) == 5 ? Kind::kOperand : Kind::kPlain; }

  Kind one_byte() const {
    const unsigned op = opcode_;
    if (op < 0x40) return (op & 7) < 4 ? operand() : (op & 7) < 6 ? Kind::kPlain : Kind::kRefused;
    if (op >= 0x50 && op <= 0x5f) return Kind::kPlain;  // push, pop
    if (op >= 0x70 && op <= 0x7f) return Kind::kConditional;
    if (op >= 0x84 && op <= 0x8b) return operand();     // test, xchg, mov
    if (op >= 0xb0 && op <= 0xbf) return Kind::kPlain;  // mov of a constant
    if (op >= 0xd0 && op <= 0xd3) return operand();     // shifts
    switch (op) {
      case 0x68:  // push of a constant
      case 0x6a:
      case 0x90:  // nop
      case 0x98:  // cdqe
      case 0x99:
      case 0xa8:  // test
      case 0xa9:
        return Kind::kPlain;
      case 0x63:  // movsxd
      case 0x69:  // imul
      case 0x6b:
      case 0x80:  // arithmetic with a constant
      case 0x81:
      case 0x83:
      case 0x8d:  // lea
      case 0xc0:  // shifts
      case 0xc1:
      case 0xf6:  // test, not, neg, mul, div
      case 0xf7:
        return operand();
      case 0xc6:  // mov of a constant
      case 0xc7:
        return extension() == 0 ? operand() : Kind::kRefused;
      case 0xc2:  // ret
      case 0xc3:
        return Kind::kEnd;
      case 0xe0:  // loop
      case 0xe1:
      case 0xe2:
      case 0xe3:  // jrcxz
        return Kind::kLoop;
      case 0xe8:
        return Kind::kCall;
      case 0xe9:
      case 0xeb:
        return Kind::kJump;
      case 0xff:
        return group_ff();
      default:
        return Kind::kRefused;
    }
  }

  Kind group_ff() const {
    const bool at_distance = operand() == Kind::kOperand;
    switch (extension()) {
      case 0:  // inc
      case 1:  // dec
      case 6:  // push
        return operand();
      case 2:
        // Others may be shorter than a jump: a return to their end would find half of it.
        return at_distance ? Kind::kCallThrough : Kind::kRefused;
      case 4:
        return at_distance ? Kind::kJumpThrough : Kind::kEnd;
      default:
        return Kind::kRefused;
    }
  }

  Kind two_bytes() const {
    const unsigned op = opcode_;
    if (op >= 0x80 && op <= 0x8f) return Kind::kConditional;
    if (op >= 0x40 && op <= 0x4f) return operand();  // cmov
    if (op >= 0x90 && op <= 0x9f) return operand();  // setcc
    switch (op) {
      case 0x1e:  // endbr64
        return choice_ == Choice::kF3 ? Kind::kPlain : Kind::kRefused;
      case 0x10:  // moves of vectors
      case 0x11:
      case 0x28:
      case 0x29:
      case 0x6e:
      case 0x6f:
      case 0x7e:
      case 0x7f:
      case 0xd6:
      case 0x57:  // xorps
      case 0xef:  // pxor
      case 0x0d:  // prefetch
      case 0x1f:  // nop
      case 0xa3:  // bt
      case 0xba:
      case 0xaf:  // imul
      case 0xb6:  // movzx, movsx
      case 0xb7:
      case 0xbe:
      case 0xbf:
        return operand();
      default:
        return Kind::kRefused;
    }
  }

  std::size_t operand_at_ = 0;
};

class Copy {
 public:
  Copy(unsigned char (&bytes)[kMaxCopied], std::uintptr_t to) : bytes_(bytes), to_(to) {}

  std::size_t size() const { return size_; }
  // Whether all fitted, and all distances.
  bool is_right() const { return is_right_; }

  void add(const void* from, std::size_t size) {
    if (size_ + size > kMaxCopied) {
      is_right_ = false;
      return;
    }
    memcpy(bytes_ + size_, from, size);
    size_ += size;
  }

  void add_byte(unsigned char byte) { add(&byte, 1); }

  // The distance from the end of the instruction, in which `rest` bytes follow the distance.
  void add_distance(std::uintptr_t target, std::size_t rest = 0) {
    const auto distance = std::int64_t(target - (to_ + size_ + 4 + rest));
    const auto number = static_cast<std::int32_t>(distance);
    if (number != distance) is_right_ = false;
    add(&number, sizeof number);
  }

  void add_jump(std::uintptr_t target) {
    add_byte(0xe9);
    add_distance(target);
  }

  // What a call does before it jumps. The function called returns to the original's code, which is
  // still there after the entry, and not to the copy: that is no part of an image, so a search for
  // an exception's handler could not pass it. `jump_size` bytes of a jump must follow, and then the
  // word `returns_to`.
  void add_push(std::size_t jump_size) {
    add_byte(0xff);
    add_byte(0x35);
    const auto distance = std::int32_t(jump_size);
    add(&distance, sizeof distance);
  }

 private:
  unsigned char (&bytes_)[kMaxCopied];
  std::uintptr_t to_;
  std::size_t size_ = 0;
  bool is_right_ = true;
};

bool is_padding(unsigned char byte) { return byte == 0xcc || byte == 0x90; }

arch::CodeView view_at(const arch::CodeView& function, std::size_t at) {
  return {function.at + at, 0, function.after - at, function.address + at};
}

// Whether an instruction after the moved ones branches into what the jump overwrites.
bool branches_back(const arch::CodeView& function, std::size_t from) {
  for (std::size_t at = from; at < function.after;) {
    const arch::CodeView code = view_at(function, at);
    const std::size_t length = arch::x86_64::length_of(code);
    if (length == 0) return false;
    Movable instruction(code);
    const Kind kind = instruction.kind();
    if (kind == Kind::kConditional || kind == Kind::kLoop || kind == Kind::kJump) {
      const std::uintptr_t distance = instruction.target(length) - function.address;
      if (distance > 0 && distance < kJumpSize) return true;
    }
    at += length;
  }
  return false;
}

MovedEntry refuse(const char* why) {
  MovedEntry refused;
  refused.refusal = why;
  return refused;
}

}  // namespace

MovedEntry move_entry(const arch::CodeView& function, std::uintptr_t to, Calls calls,
                      unsigned char (&bytes)[kMaxCopied]) {
  MovedEntry entry;
  Copy copy(bytes, to);
  bool has_ended = false;
  std::size_t at = 0;
  while (at < kJumpSize) {
    const arch::CodeView code = view_at(function, at);
    if (has_ended) {
      if (code.after == 0 || !is_padding(*code.at)) return refuse("it is shorter than a jump");
      ++at;
      continue;
    }
    const std::size_t length = arch::x86_64::length_of(code);
    Movable instruction(code);
    const Kind kind = instruction.kind();
    const bool is_known = kind != Kind::kRefused && kind != Kind::kLoop;
    if (length == 0 || length > code.after || !is_known) {
      return refuse("its first instructions are not understood");
    }
    if (calls == Calls::kRefused && (kind == Kind::kCall || kind == Kind::kCallThrough)) {
      return refuse("it begins with a call, which cannot be moved in a process with shadow stacks");
    }
    const std::uintptr_t next = code.address + length;
    std::uintptr_t target = 0;
    switch (kind) {
      case Kind::kConditional:
      case Kind::kJump:
      case Kind::kCall:
        target = instruction.target(length);
        if (target - function.address < kJumpSize) {
          return refuse("it branches back into its first instructions");
        }
        break;
      case Kind::kOperand:
      case Kind::kJumpThrough:
      case Kind::kCallThrough:
        target = next + std::uintptr_t(number_at(code.at + instruction.distance_at(), 4));
        break;
      default:
        break;
    }
    switch (kind) {
      case Kind::kOperand:
      case Kind::kJumpThrough: {
        const std::size_t distance_at = instruction.distance_at();
        copy.add(code.at, distance_at);
        copy.add_distance(target, length - distance_at - 4);
        copy.add(code.at + distance_at + 4, length - distance_at - 4);
        break;
      }
      case Kind::kConditional:
        copy.add_byte(0x0f);
        copy.add_byte(static_cast<unsigned char>(0x80 | instruction.condition()));
        copy.add_distance(target);
        break;
      case Kind::kJump:
        copy.add_jump(target);
        break;
      case Kind::kCall:
        copy.add_push(5);
        copy.add_jump(target);
        copy.add(&next, sizeof next);
        break;
      case Kind::kCallThrough:
        copy.add_push(6);
        copy.add_byte(0xff);
        copy.add_byte(0x25);
        copy.add_distance(target);
        copy.add(&next, sizeof next);
        break;
      default:
        copy.add(code.at, length);
    }
    has_ended = kind != Kind::kPlain && kind != Kind::kOperand && kind != Kind::kConditional;
    if (at == 0) entry.first = length;
    at += length;
  }
  if (!has_ended) copy.add_jump(function.address + at);
  if (!copy.is_right()) return refuse("what its first instructions refer to is too far away");
  if (branches_back(function, at)) return refuse("it branches back into its first instructions");
  entry.moved = at;
  entry.size = copy.size();
  return entry;
}

}  // namespace corbel::proxy
