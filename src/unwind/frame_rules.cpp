// SPDX-License-Identifier: Apache-2.0
#include "unwind/frame_rules.hpp"

#include <cstddef>
#include <cstring>

#include "unwind/dwarf_bytes.hpp"

namespace corbel::unwind {

// The tables are as the linker made them: a length in them is believed. What the kernel has loaded
// of the object may be in several pieces, of which CodeObject has only one, so that is no bound.

namespace {

constexpr std::uint8_t kOmitted = 0xff;

// What all functions that share a common information entry (CIE) have in common.
struct Common {
  DwarfBytes instructions;
  std::uint64_t code_factor;
  std::int64_t data_factor;
  std::uint8_t encoding = 0;  // of the addresses in the functions' entries
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
};

// The bytes of the entry at `at`, after its length. Fails for the 64-bit format, which no compiler
// uses.
DwarfBytes entry_at(const unsigned char* at) {
  constexpr std::uint32_t kMaxLength = 1U << 20;
  DwarfBytes bytes(at, at + sizeof(std::uint32_t));
  const auto length = bytes.get<std::uint32_t>();
  if (length == 0 || length > kMaxLength) {
    bytes.fail();
    return bytes;
  }
  return {bytes.at(), bytes.at() + length};
}

bool read_common(const unsigned char* at, Common* common) {
  DwarfBytes bytes = entry_at(at);
  const auto id = bytes.get<std::uint32_t>();
  const auto version = bytes.get<std::uint8_t>();
  if (bytes.failed() || id != 0 || (version != 1 && version != 3)) return false;
  const auto* const augmentation = reinterpret_cast<const char*>(bytes.at());
  bytes.skip(strnlen(augmentation, bytes.left()) + 1);
  if (bytes.failed()) return false;
  common->code_factor = bytes.unsigned_leb();
  common->data_factor = bytes.signed_leb();
  const std::uint64_t column = version == 1 ? bytes.get<std::uint8_t>() : bytes.unsigned_leb();
  if (column != arch::kReturnColumn) return false;
  const char* letter = augmentation;
  if (*letter == 'z') {
    ++letter;
    common->has_augmentation_data = true;
    const std::uint64_t size = bytes.unsigned_leb();
    if (size > bytes.left()) return false;
    DwarfBytes data(bytes.at(), bytes.at() + size);
    bytes.skip(size);
    for (; *letter != '\0'; ++letter) {
      switch (*letter) {
        case 'R':
          common->encoding = data.get<std::uint8_t>();
          break;
        case 'L':
          data.skip(1);
          break;
        case 'P': {
          constexpr std::uint8_t kIndirect = 0x80;
          data.pointer(data.get<std::uint8_t>() & std::uint8_t(~kIndirect));
          break;
        }
        case 'S':
          common->is_signal_frame = true;
          break;
        case 'B':
          break;  // addresses are signed with the other key
        default:
          return false;
      }
    }
    if (data.failed()) return false;
  } else if (*letter != '\0') {
    return false;
  }
  common->instructions = bytes;
  return !bytes.failed();
}

// ---- the index --------------------------------------------------------------------------------

// The entry (FDE) of the function that the address may lie in; nullptr if the index has none.
const unsigned char* find_function(const os::CodeObject& object, std::uintptr_t address) {
  constexpr std::uint8_t kSigned4Relative = 0x1b;
  constexpr std::uint8_t kUnsigned4 = 0x03;
  constexpr std::uint8_t kSigned4FromIndex = 0x3b;
  // Before the table: four bytes, an address in any encoding, and the count.
  constexpr std::size_t kMaxHeader = 24;
  struct Pair {
    std::int32_t function, entry;
  };
  const unsigned char* const index = object.unwind_index;
  if (index == nullptr) return nullptr;
  DwarfBytes bytes(index, index + kMaxHeader);
  const auto version = bytes.get<std::uint8_t>();
  const auto of_frames = bytes.get<std::uint8_t>();
  const auto of_count = bytes.get<std::uint8_t>();
  const auto of_table = bytes.get<std::uint8_t>();
  // Linkers make no other form of a sorted index.
  if (version != 1 || of_frames == kOmitted || of_count != kUnsigned4 ||
      of_table != kSigned4FromIndex) {
    return nullptr;
  }
  if (of_frames != kSigned4Relative)
    bytes.pointer(of_frames);
  else
    bytes.skip(4);
  const auto count = bytes.get<std::uint32_t>();
  if (bytes.failed() || count == 0) return nullptr;
  const unsigned char* const table = bytes.at();
  const auto pair_at = [table](std::size_t i) {
    Pair pair;
    std::memcpy(&pair, table + i * sizeof pair, sizeof pair);
    return pair;
  };
  const auto target = std::intptr_t(address - reinterpret_cast<std::uintptr_t>(index));
  // The last function that begins at the address or before it.
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (pair_at(middle).function <= target)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : index + pair_at(low - 1).entry;
}

// ---- the instructions -------------------------------------------------------------------------

class Interpreter {
 public:
  Interpreter(const Common& common, FrameRules* rules) : common_(common), rules_(*rules) {}

  // Runs the instructions up to those for a later instruction of the program than `address`.
  bool run(DwarfBytes bytes, std::uintptr_t location, std::uintptr_t address);
  // What `run` has found so far is what kRestore goes back to.
  void keep_initial() { std::memcpy(initial_, rules_.registers, sizeof initial_); }

 private:
  enum Operation : std::uint8_t {
    kNop = 0x00,
    kSetLocation = 0x01,
    kAdvance1 = 0x02,
    kAdvance2 = 0x03,
    kAdvance4 = 0x04,
    kAtOffsetLong = 0x05,
    kRestoreLong = 0x06,
    kUndefined = 0x07,
    kSame = 0x08,
    kRegister = 0x09,
    kRemember = 0x0a,
    kRecall = 0x0b,
    kCfa = 0x0c,
    kCfaRegister = 0x0d,
    kCfaOffset = 0x0e,
    kCfaExpression = 0x0f,
    kAtExpression = 0x10,
    kAtOffsetSigned = 0x11,
    kCfaSigned = 0x12,
    kCfaOffsetSigned = 0x13,
    kOffset = 0x14,
    kOffsetSigned = 0x15,
    kExpression = 0x16,
    kNegateReturnState = 0x2d,
    kArgumentsSize = 0x2e,
    kAtOffsetNegative = 0x2f,
    // With an operand in their lower six bits.
    kAdvance = 0x40,
    kAtOffset = 0x80,
    kRestore = 0xc0
  };

  bool step(DwarfBytes& bytes, std::uint8_t operation);
  void set(std::uint64_t number, Rule::Kind kind, std::int64_t value);
  void restore(std::uint64_t number);
  std::int32_t expression(DwarfBytes& bytes);
  bool remember();
  bool recall();
  std::int64_t scaled(std::int64_t value) const {
    return std::int64_t(std::uint64_t(value) * std::uint64_t(common_.data_factor));
  }

  static constexpr unsigned kMaxRemembered = 4;
  struct State {
    Rule cfa;
    Rule registers[arch::kRegisters];
  };

  const Common& common_;
  FrameRules& rules_;
  std::uintptr_t location_ = 0;
  bool too_large_ = false;
  unsigned remembered_ = 0;
  Rule initial_[arch::kRegisters];
  State states_[kMaxRemembered];
};

void Interpreter::set(std::uint64_t number, Rule::Kind kind, std::int64_t value) {
  // The tables also name vector registers, which no address depends on.
  if (number >= arch::kRegisters) return;
  if (value != std::int32_t(value)) too_large_ = true;
  rules_.registers[number] = {kind, 0, std::int32_t(value)};
}

void Interpreter::restore(std::uint64_t number) {
  if (number < arch::kRegisters) rules_.registers[number] = initial_[number];
}

std::int32_t Interpreter::expression(DwarfBytes& bytes) {
  const std::ptrdiff_t distance = bytes.at() - rules_.base;
  if (distance != std::int32_t(distance)) too_large_ = true;
  bytes.skip(bytes.unsigned_leb());
  return std::int32_t(distance);
}

bool Interpreter::remember() {
  if (remembered_ == kMaxRemembered) return false;
  State& state = states_[remembered_++];
  state.cfa = rules_.cfa;
  std::memcpy(state.registers, rules_.registers, sizeof state.registers);
  return true;
}

bool Interpreter::recall() {
  if (remembered_ == 0) return false;
  const State& state = states_[--remembered_];
  rules_.cfa = state.cfa;
  std::memcpy(rules_.registers, state.registers, sizeof state.registers);
  return true;
}

bool Interpreter::step(DwarfBytes& bytes, std::uint8_t operation) {
  using Kind = Rule::Kind;
  const auto set_cfa = [this](std::uint64_t number, std::int64_t offset) {
    if (number >= arch::kRegisters || offset != std::int32_t(offset)) too_large_ = true;
    rules_.cfa = {Kind::kOffset, std::uint8_t(number), std::int32_t(offset)};
  };
  std::uint64_t number = operation & 0x3f;
  switch (operation & 0xc0) {
    case kAdvance:
      location_ += number * common_.code_factor;
      return true;
    case kAtOffset:
      set(number, Kind::kAtOffset, scaled(std::int64_t(bytes.unsigned_leb())));
      return true;
    case kRestore:
      restore(number);
      return true;
    default:
      break;
  }
  switch (operation) {
    case kNop:
    case kNegateReturnState:
      return true;  // the signature is removed from every address
    case kSetLocation:
      location_ = bytes.pointer(common_.encoding);
      return true;
    case kAdvance1:
      location_ += bytes.get<std::uint8_t>() * common_.code_factor;
      return true;
    case kAdvance2:
      location_ += bytes.get<std::uint16_t>() * common_.code_factor;
      return true;
    case kAdvance4:
      location_ += bytes.get<std::uint32_t>() * common_.code_factor;
      return true;
    case kRemember:
      return remember();
    case kRecall:
      return recall();
    case kArgumentsSize:
      bytes.unsigned_leb();
      return true;
    case kCfaOffset:
      set_cfa(rules_.cfa.number, std::int64_t(bytes.unsigned_leb()));
      return true;
    case kCfaOffsetSigned:
      set_cfa(rules_.cfa.number, scaled(bytes.signed_leb()));
      return true;
    case kCfaExpression:
      rules_.cfa = {Kind::kExpression, 0, expression(bytes)};
      return true;
    default:
      break;
  }
  number = bytes.unsigned_leb();
  switch (operation) {
    case kAtOffsetLong:
      set(number, Kind::kAtOffset, scaled(std::int64_t(bytes.unsigned_leb())));
      return true;
    case kAtOffsetSigned:
      set(number, Kind::kAtOffset, scaled(bytes.signed_leb()));
      return true;
    case kAtOffsetNegative:
      set(number, Kind::kAtOffset, -scaled(std::int64_t(bytes.unsigned_leb())));
      return true;
    case kOffset:
      set(number, Kind::kOffset, scaled(std::int64_t(bytes.unsigned_leb())));
      return true;
    case kOffsetSigned:
      set(number, Kind::kOffset, scaled(bytes.signed_leb()));
      return true;
    case kRestoreLong:
      restore(number);
      return true;
    case kUndefined:
      set(number, Kind::kUndefined, 0);
      return true;
    case kSame:
      set(number, Kind::kSame, 0);
      return true;
    case kRegister:
      set(number, Kind::kRegister, std::int64_t(bytes.unsigned_leb()));
      return true;
    case kAtExpression:
      set(number, Kind::kAtExpression, expression(bytes));
      return true;
    case kExpression:
      set(number, Kind::kExpression, expression(bytes));
      return true;
    case kCfa:
      set_cfa(number, std::int64_t(bytes.unsigned_leb()));
      return true;
    case kCfaSigned:
      set_cfa(number, scaled(bytes.signed_leb()));
      return true;
    case kCfaRegister:
      set_cfa(number, rules_.cfa.value);
      return true;
    default:
      return false;
  }
}

bool Interpreter::run(DwarfBytes bytes, std::uintptr_t location, std::uintptr_t address) {
  location_ = location;
  while (bytes.left() != 0 && location_ <= address) {
    if (!step(bytes, bytes.get<std::uint8_t>()) || bytes.failed()) return false;
  }
  return !too_large_;
}

}  // namespace

bool find_rules(const os::CodeObject& object, std::uintptr_t address, FrameRules* rules) {
  const unsigned char* const at = find_function(object, address);
  if (at == nullptr) return false;
  DwarfBytes bytes = entry_at(at);
  const unsigned char* const place = bytes.at();
  const auto distance = bytes.get<std::uint32_t>();
  if (bytes.failed() || distance == 0) return false;
  Common common;
  if (!read_common(place - distance, &common)) return false;
  const std::uintptr_t begin = bytes.pointer(common.encoding);
  const std::uintptr_t size = bytes.pointer(common.encoding & 0x0f);
  if (common.has_augmentation_data) bytes.skip(bytes.unsigned_leb());
  if (bytes.failed() || address - begin >= size) return false;

  rules->base = object.unwind_index;
  rules->cfa = {};
  for (Rule& rule : rules->registers) rule = {};
  rules->is_signal_frame = common.is_signal_frame;
  Interpreter interpreter(common, rules);
  if (!interpreter.run(common.instructions, 0, 0)) return false;
  interpreter.keep_initial();
  return interpreter.run(bytes, begin, address);
}

}  // namespace corbel::unwind
