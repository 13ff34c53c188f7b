// SPDX-License-Identifier: Apache-2.0
#include "unwind/expression.hpp"

#include "unwind/dwarf_bytes.hpp"

namespace corbel::unwind {

namespace {

class Evaluation {
 public:
  Evaluation(const arch::Registers& registers, StackMemory& memory)
      : registers_(registers), memory_(memory) {}

  void push(std::uintptr_t value) {
    if (size_ == kMaxSize)
      failed_ = true;
    else
      values_[size_++] = value;
  }
  bool run(DwarfBytes bytes, std::uintptr_t* result);

 private:
  enum Operation : std::uint8_t {
    kDereference = 0x06,
    kConst1u = 0x08,
    kConst1s = 0x09,
    kConst2u = 0x0a,
    kConst2s = 0x0b,
    kConst4u = 0x0c,
    kConst4s = 0x0d,
    kConst8u = 0x0e,
    kConst8s = 0x0f,
    kConstu = 0x10,
    kConsts = 0x11,
    kDuplicate = 0x12,
    kDrop = 0x13,
    kOver = 0x14,
    kPick = 0x15,
    kSwap = 0x16,
    kAnd = 0x1a,
    kMinus = 0x1c,
    kMultiply = 0x1e,
    kNegate = 0x1f,
    kNot = 0x20,
    kOr = 0x21,
    kPlus = 0x22,
    kPlusConst = 0x23,
    kShiftLeft = 0x24,
    kShiftRight = 0x25,
    kShiftRightSigned = 0x26,
    kXor = 0x27,
    kBranch = 0x28,
    kEqual = 0x29,
    kGreaterEqual = 0x2a,
    kGreater = 0x2b,
    kLessEqual = 0x2c,
    kLess = 0x2d,
    kUnequal = 0x2e,
    kSkip = 0x2f,
    kLiteral0 = 0x30,
    kLiteral31 = 0x4f,
    kRegister0 = 0x70,
    kRegister31 = 0x8f,
    kRegisterNumbered = 0x92,
    kNop = 0x96
  };

  std::uintptr_t pop() {
    if (size_ == 0) {
      failed_ = true;
      return 0;
    }
    return values_[--size_];
  }
  void pick(unsigned depth) {
    if (depth >= size_)
      failed_ = true;
    else
      push(values_[size_ - 1 - depth]);
  }
  void push_register(std::uint64_t number, std::int64_t offset) {
    // The return address's register stands for the address of the code itself.
    if (!arch::kReturnsByLinkRegister && number == arch::kReturnColumn) {
      push(registers_.pc + std::uintptr_t(offset));
    } else if (number < arch::kRegisters) {
      push(registers_.at[number] + std::uintptr_t(offset));
    } else {
      failed_ = true;
    }
  }
  void jump(DwarfBytes& bytes, const unsigned char* begin, std::int16_t distance);
  bool push_constant(DwarfBytes& bytes, std::uint8_t operation);
  bool move(DwarfBytes& bytes, std::uint8_t operation);
  bool compute(std::uint8_t operation);

  static constexpr unsigned kMaxSize = 16;
  const arch::Registers& registers_;
  StackMemory& memory_;
  std::uintptr_t values_[kMaxSize];
  unsigned size_ = 0;
  bool failed_ = false;
};

void Evaluation::jump(DwarfBytes& bytes, const unsigned char* begin, std::int16_t distance) {
  const std::ptrdiff_t target = bytes.at() - begin + distance;
  if (target < 0 || target > bytes.end() - begin)
    failed_ = true;
  else
    bytes = DwarfBytes(begin + target, bytes.end());
}

bool Evaluation::push_constant(DwarfBytes& bytes, std::uint8_t operation) {
  switch (operation) {
    case kConst1u:
      push(bytes.get<std::uint8_t>());
      return true;
    case kConst1s:
      push(std::uintptr_t(std::intptr_t{bytes.get<std::int8_t>()}));
      return true;
    case kConst2u:
      push(bytes.get<std::uint16_t>());
      return true;
    case kConst2s:
      push(std::uintptr_t(std::intptr_t{bytes.get<std::int16_t>()}));
      return true;
    case kConst4u:
      push(bytes.get<std::uint32_t>());
      return true;
    case kConst4s:
      push(std::uintptr_t(std::intptr_t{bytes.get<std::int32_t>()}));
      return true;
    case kConst8u:
    case kConst8s:
      push(bytes.get<std::uint64_t>());
      return true;
    case kConstu:
      push(bytes.unsigned_leb());
      return true;
    case kConsts:
      push(std::uintptr_t(bytes.signed_leb()));
      return true;
    case kRegisterNumbered: {
      const std::uint64_t number = bytes.unsigned_leb();
      push_register(number, bytes.signed_leb());
      return true;
    }
    default:
      break;
  }
  if (operation >= kLiteral0 && operation <= kLiteral31) {
    push(std::uintptr_t(operation) - kLiteral0);
    return true;
  }
  if (operation >= kRegister0 && operation <= kRegister31) {
    push_register(operation - std::uint64_t{kRegister0}, bytes.signed_leb());
    return true;
  }
  return false;
}

bool Evaluation::move(DwarfBytes& bytes, std::uint8_t operation) {
  switch (operation) {
    case kNop:
      return true;
    case kDereference: {
      std::uintptr_t value = 0;
      if (!memory_.load(pop(), &value)) failed_ = true;
      push(value);
      return true;
    }
    case kDuplicate:
      pick(0);
      return true;
    case kDrop:
      pop();
      return true;
    case kOver:
      pick(1);
      return true;
    case kPick:
      pick(bytes.get<std::uint8_t>());
      return true;
    case kSwap: {
      const std::uintptr_t top = pop();
      const std::uintptr_t next = pop();
      push(top);
      push(next);
      return true;
    }
    case kPlusConst:
      push(pop() + bytes.unsigned_leb());
      return true;
    case kNegate:
      push(0 - pop());
      return true;
    case kNot:
      push(~pop());
      return true;
    default:
      return false;
  }
}

bool Evaluation::compute(std::uint8_t operation) {
  const std::uintptr_t b = pop();
  const std::uintptr_t a = pop();
  const auto sa = std::intptr_t(a);
  const auto sb = std::intptr_t(b);
  constexpr unsigned kBits = 64;
  switch (operation) {
    case kAnd:
      push(a & b);
      return true;
    case kMinus:
      push(a - b);
      return true;
    case kMultiply:
      push(a * b);
      return true;
    case kOr:
      push(a | b);
      return true;
    case kPlus:
      push(a + b);
      return true;
    case kShiftLeft:
      push(b < kBits ? a << b : 0);
      return true;
    case kShiftRight:
      push(b < kBits ? a >> b : 0);
      return true;
    case kShiftRightSigned:
      push(std::uintptr_t(sa >> (b < kBits ? b : kBits - 1)));
      return true;
    case kXor:
      push(a ^ b);
      return true;
    case kEqual:
      push(a == b ? 1 : 0);
      return true;
    case kGreaterEqual:
      push(sa >= sb ? 1 : 0);
      return true;
    case kGreater:
      push(sa > sb ? 1 : 0);
      return true;
    case kLessEqual:
      push(sa <= sb ? 1 : 0);
      return true;
    case kLess:
      push(sa < sb ? 1 : 0);
      return true;
    case kUnequal:
      push(a != b ? 1 : 0);
      return true;
    default:
      return false;
  }
}

bool Evaluation::run(DwarfBytes bytes, std::uintptr_t* result) {
  const unsigned char* const begin = bytes.at();
  constexpr unsigned kMaxSteps = 256;  // expressions that branch may not end
  for (unsigned steps = 0; bytes.left() != 0; ++steps) {
    if (steps == kMaxSteps || failed_) return false;
    const auto operation = bytes.get<std::uint8_t>();
    if (operation == kSkip || operation == kBranch) {
      const auto distance = bytes.get<std::int16_t>();
      if (operation == kSkip || pop() != 0) jump(bytes, begin, distance);
    } else if (!push_constant(bytes, operation) && !move(bytes, operation) && !compute(operation)) {
      return false;
    }
  }
  *result = pop();
  return !failed_ && !bytes.failed();
}

}  // namespace

bool evaluate(const FrameRules& rules, const Rule& rule, const std::uintptr_t* initial,
              const arch::Registers& registers, StackMemory& memory, std::uintptr_t* result) {
  constexpr std::size_t kMaxLength = 2;  // of the size, in bytes: any longer expression is none
  DwarfBytes bytes(rules.base + rule.value, rules.base + rule.value + kMaxLength);
  const std::uint64_t size = bytes.unsigned_leb();
  if (bytes.failed()) return false;
  Evaluation evaluation(registers, memory);
  if (initial != nullptr) evaluation.push(*initial);
  return evaluation.run({bytes.at(), bytes.at() + size}, result);
}

}  // namespace corbel::unwind
