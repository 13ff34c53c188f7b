// SPDX-License-Identifier: Apache-2.0
// The memory operands of x86-64 (Intel SDM, volume 2, appendix A: the maps of opcodes).
#include "arch/memory_access.hpp"

#include "arch/x86_64/instruction.hpp"

namespace corbel::arch::x86_64 {
namespace {

// What an opcode does with its memory operand.
struct Form {
  unsigned size = 0;  // bytes; 0: unknown, or there is no such operand
  bool reads = false;
  bool writes = false;
  unsigned immediate = 0;  // bytes after the operand
};

constexpr Form read(unsigned size, unsigned immediate = 0) {
  return {size, true, false, immediate};
}
constexpr Form write(unsigned size, unsigned immediate = 0) {
  return {size, false, true, immediate};
}
constexpr Form change(unsigned size, unsigned immediate = 0) {
  return {size, true, true, immediate};
}

class Decoder : public Instruction {
 public:
  Decoder(const CodeView& code, const std::uintptr_t* registers)
      : Instruction(code), registers_(registers) {}

  bool run(MemoryAccess* access);

  // After run(): whether the instruction changes a register that its operand uses.
  bool changes_address() const { return changes_address_; }

 private:
  std::int64_t displacement(unsigned size);
  std::uintptr_t register_at(unsigned number) const;

  bool evex_form_is_known() const;
  bool read_string(unsigned opcode, MemoryAccess* access);
  bool read_operand(const Form& form, MemoryAccess* access);

  Form form_of() const;
  Form one_byte_form(unsigned opcode) const;
  Form float_form(unsigned opcode) const;
  Form map1_form(unsigned opcode) const;
  Form map2_form(unsigned opcode) const;
  Form map3_form(unsigned opcode) const;
  bool has_register_result() const;

  // The sizes of operands: of a general register,
  unsigned general() const { return wide_ ? 8 : choice_ == Choice::k66 || has_66_ ? 2 : 4; }
  // of one that is never of two bytes,
  unsigned word() const { return wide_ ? 8 : 4; }
  // of a vector, and of that or the one number that the F3 and F2 forms of an opcode use.
  unsigned vector() const { return 16U << vector_bits_; }
  unsigned numbers() const {
    return choice_ == Choice::kF3 ? 4 : choice_ == Choice::kF2 ? 8 : vector();
  }

  const std::uintptr_t* registers_;
  bool changes_address_ = false;
};

std::int64_t Decoder::displacement(unsigned size) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= next() << (8 * i);
  return size == 1 ? std::int64_t(std::int8_t(value)) : std::int64_t(std::int32_t(value));
}

std::uintptr_t Decoder::register_at(unsigned number) const {
  // rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi in the numbers of unwind tables.
  constexpr unsigned kNumber[] = {0, 2, 1, 3, 7, 6, 4, 5};
  return registers_[number < 8 ? kNumber[number] : number];
}

// Only what copies vectors and computes with whole ones: other forms scale their displacement
// differently.
bool Decoder::evex_form_is_known() const {
  const unsigned opcode = opcode_;
  return map_ == 1 && vector_bits_ != 3 && !is_broadcast_ &&
         (opcode == 0x10 || opcode == 0x11 || opcode == 0x28 || opcode == 0x29 || opcode == 0x2b ||
          opcode == 0x51 || (opcode >= 0x54 && opcode <= 0x59) ||
          (opcode >= 0x5c && opcode <= 0x5f) || opcode == 0x6f || opcode == 0x7f ||
          opcode == 0xe7 || opcode == 0xef || opcode == 0xfe || opcode == 0xd4);
}

Form Decoder::float_form(unsigned opcode) const {
  const unsigned what = extension();
  switch (opcode) {
    case 0xd8:
      return read(4);
    case 0xda:
      return read(4);
    case 0xdc:
      return read(8);
    case 0xde:
      return read(2);
    case 0xd9:
      return what == 0 ? read(4) : what == 2 || what == 3 ? write(4) : Form{};
    case 0xdb:
      return what == 0   ? read(4)
             : what <= 3 ? write(4)
             : what == 5 ? read(10)
             : what == 7 ? write(10)
                         : Form{};
    case 0xdd:
      return what == 0 ? read(8) : what <= 3 ? write(8) : Form{};
    default:
      return what == 0   ? read(2)
             : what <= 3 ? write(2)
             : what == 5 ? read(8)
             : what == 7 ? write(8)
                         : Form{};
  }
}

Form Decoder::one_byte_form(unsigned opcode) const {
  const unsigned size = (opcode & 1) == 0 ? 1 : general();
  if (opcode < 0x40) {
    if ((opcode & 7) >= 4) return {};
    const bool compares = opcode >= 0x38;
    return (opcode & 2) != 0 || compares ? read(size) : change(size);
  }
  if (opcode >= 0xd8 && opcode <= 0xdf) return float_form(opcode);
  const unsigned what = extension();
  switch (opcode) {
    case 0x63:
      return read(4);
    case 0x69:
      return read(general(), immediate());
    case 0x6b:
      return read(general(), 1);
    case 0x80:
    case 0x83:
      return what == 7 ? read(size, 1) : change(size, 1);
    case 0x81:
      return what == 7 ? read(size, immediate()) : change(size, immediate());
    case 0x84:
    case 0x85:
      return read(size);
    case 0x86:
    case 0x87:
      return change(size);
    case 0x88:
    case 0x89:
      return write(size);
    case 0x8a:
    case 0x8b:
      return read(size);
    case 0xc0:
    case 0xc1:
      return change(size, 1);
    case 0xc6:
      return what == 0 ? write(1, 1) : Form{};
    case 0xc7:
      return what == 0 ? write(size, immediate()) : Form{};
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
      return change(size);
    case 0xf6:
      return what < 2 ? read(1, 1) : what < 4 ? change(1) : read(1);
    case 0xf7:
      return what < 2 ? read(size, immediate()) : what < 4 ? change(size) : read(size);
    case 0xfe:
      return what < 2 ? change(1) : Form{};
    case 0xff:
      return what < 2 ? change(size) : what == 2 || what == 4 || what == 6 ? read(8) : Form{};
    default:
      return {};
  }
}

Form Decoder::map1_form(unsigned opcode) const {
  if (opcode >= 0x40 && opcode <= 0x4f) return is_vex_ ? Form{} : read(general());
  if (opcode >= 0x51 && opcode <= 0x5f) return read(numbers());
  if (opcode >= 0x90 && opcode <= 0x9f) return is_vex_ ? Form{} : write(1);
  const unsigned what = extension();
  // Without a prefix, the instructions of MMX.
  const unsigned packed = !is_vex_ && choice_ == Choice::kNone ? 8 : vector();
  switch (opcode) {
    case 0x10:
      return read(numbers());
    case 0x11:
      return write(numbers());
    case 0x12:
    case 0x16:
      return read(choice_ == Choice::kF3 ? vector() : 8);
    case 0x13:
    case 0x17:
      return write(8);
    case 0x14:
    case 0x15:
    case 0x28:
      return read(vector());
    case 0x29:
    case 0x2b:
      return write(vector());
    case 0x2a:
      return choice_ == Choice::kF3 || choice_ == Choice::kF2 ? read(word()) : read(8);
    case 0x2c:
    case 0x2d:
      return read(choice_ == Choice::kF3 ? 4 : choice_ == Choice::kF2 ? 8 : vector());
    case 0x2e:
    case 0x2f:
      return read(choice_ == Choice::k66 ? 8 : 4);
    case 0x6e:
      return read(word());
    case 0x70:
      return read(packed, 1);
    case 0x7e:
      return choice_ == Choice::kF3 ? read(8) : write(word());
    case 0x7f:
      return write(packed);
    case 0xa3:
    case 0xaf:
    case 0xb8:
    case 0xbc:
    case 0xbd:
      return read(general());
    case 0xab:
    case 0xb3:
    case 0xbb:
    case 0xa5:
    case 0xad:
      return change(general());
    case 0xa4:
    case 0xac:
      return change(general(), 1);
    case 0xb0:
    case 0xc0:
      return change(1);
    case 0xb1:
    case 0xc1:
      return change(general());
    case 0xb6:
    case 0xbe:
      return read(1);
    case 0xb7:
    case 0xbf:
      return read(2);
    case 0xba:
      return what < 4 ? Form{} : what == 4 ? read(general(), 1) : change(general(), 1);
    case 0xc2:
      return read(numbers(), 1);
    case 0xc3:
      return write(word());
    case 0xc4:
      return read(2, 1);
    case 0xc6:
      return read(vector(), 1);
    case 0xc7:
      return what == 1 ? change(wide_ ? 16 : 8) : Form{};
    case 0xd6:
      return choice_ == Choice::k66 ? write(8) : Form{};
    case 0xe7:
      return write(packed);
    case 0x71:
    case 0x72:
    case 0x73:
    case 0x77:
    case 0xae:
    case 0xc5:
    case 0xd7:
    case 0xf7:
    case 0xff:
      return {};
    default:
      return (opcode >= 0x60 && opcode <= 0x76) || opcode >= 0xd0 ? read(packed) : Form{};
  }
}

Form Decoder::map2_form(unsigned opcode) const {
  const unsigned number = word();
  if (opcode >= 0x96 && opcode <= 0xbf && is_vex_) {  // multiply and add
    const bool is_scalar = (opcode & 15) >= 9 && (opcode & 1) != 0;
    return read(is_scalar ? number : vector());
  }
  switch (opcode) {
    case 0x18:
    case 0x58:
      return read(4);
    case 0x19:
    case 0x59:
      return read(8);
    case 0x1a:
    case 0x5a:
      return read(16);
    case 0x78:
      return read(1);
    case 0x79:
      return read(2);
    case 0x20:
    case 0x23:
    case 0x25:
    case 0x30:
    case 0x33:
    case 0x35:
      return read(vector() / 2);
    case 0x21:
    case 0x24:
    case 0x31:
    case 0x34:
      return read(vector() / 4);
    case 0x22:
    case 0x32:
      return read(vector() / 8);
    case 0x2e:
    case 0x2f:
    case 0x8e:
      return write(vector());
    case 0xf0:
      return choice_ == Choice::kF2 ? read(1) : read(general());
    case 0xf1:
      return choice_ == Choice::kF2 ? read(general()) : write(general());
    case 0xf2:
    case 0xf3:
    case 0xf5:
    case 0xf6:
    case 0xf7:
      return read(number);
    default:
      // 0x90 to 0x93 gather, from several places.
      return opcode < 0x90 || opcode >= 0xc8 ? read(vector()) : Form{};
  }
}

Form Decoder::map3_form(unsigned opcode) const {
  switch (opcode) {
    case 0x0a:
    case 0x21:
      return read(4, 1);
    case 0x0b:
      return read(8, 1);
    case 0x14:
      return write(1, 1);
    case 0x15:
      return write(2, 1);
    case 0x16:
      return write(word(), 1);
    case 0x17:
      return write(4, 1);
    case 0x18:
    case 0x38:
      return read(16, 1);
    case 0x19:
    case 0x39:
      return write(16, 1);
    case 0x20:
      return read(1, 1);
    case 0x22:
    case 0xf0:
      return read(word(), 1);
    default: {
      // Multiply and add with four operands has forms for one number.
      const bool is_scalar = is_vex_ && opcode >= 0x68 && opcode <= 0x7f && (opcode & 2) != 0;
      return read(!is_scalar ? vector() : (opcode & 1) != 0 ? 8 : 4, 1);
    }
  }
}

Form Decoder::form_of() const {
  switch (map_) {
    case 0:
      return one_byte_form(opcode_);
    case 1:
      return map1_form(opcode_);
    case 2:
      return map2_form(opcode_);
    default:
      return map3_form(opcode_);
  }
}

// The instructions whose operands are where rsi and rdi point to.
bool Decoder::read_string(unsigned opcode, MemoryAccess* access) {
  constexpr unsigned kRsi = 6;
  constexpr unsigned kRdi = 7;
  const unsigned size = (opcode & 1) == 0 ? 1 : general();
  switch (opcode & ~1U) {
    case 0xa4:  // movs: its write
    case 0xaa:  // stos
      *access = {register_at(kRdi), size, false, true};
      return true;
    case 0xac:  // lods
    case 0xa6:  // cmps
      *access = {register_at(kRsi), size, true, false};
      return true;
    case 0xae:  // scas
      *access = {register_at(kRdi), size, true, false};
      return true;
    default:
      return false;
  }
}

bool Decoder::read_operand(const Form& form, MemoryAccess* access) {
  const unsigned modes = next();
  const unsigned mode = modes >> 6;
  unsigned base = modes & 7;
  if (mode == 3) return false;
  const unsigned result = (modes >> 3 & 7) | register_high_;
  const bool has_result = has_register_result();
  std::uintptr_t address = 0;
  bool has_base = true;
  bool is_relative = false;
  if (base == 4) {
    const unsigned scaled = next();
    const unsigned index = (scaled >> 3 & 7) | index_high_;
    base = scaled & 7;
    if (index != 4) address += register_at(index) << (scaled >> 6);
    changes_address_ = has_result && index == result;
    has_base = base != 5 || mode != 0;
  } else if (base == 5 && mode == 0) {
    has_base = false;
    is_relative = true;
  }
  if (has_base) {
    base |= base_high_;
    address += register_at(base);
    changes_address_ |= has_result && base == result;
  }
  if (mode == 1) {
    const std::int64_t scale = is_evex_ ? form.size : 1;
    address += std::uintptr_t(displacement(1) * scale);
  } else if (mode == 2 || !has_base) {
    address += std::uintptr_t(displacement(4));
  }
  at_ += form.immediate;
  if (is_relative) address += code_.address + at_;
  *access = {address, form.size, form.reads, form.writes};
  return !has_segment_;
}

// Whether the register of the ModRM byte gets a new value.
bool Decoder::has_register_result() const {
  const unsigned opcode = opcode_;
  if (map_ == 0) {
    if (opcode < 0x40) return (opcode & 2) != 0 && opcode < 0x38;
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || opcode == 0x86 || opcode == 0x87 ||
           opcode == 0x8a || opcode == 0x8b;
  }
  if (is_vex_) return map_ != 1;  // the instructions with general registers are there
  if (map_ == 2) return opcode == 0xf0 || opcode == 0xf1 || opcode == 0xf6;
  return map_ == 1 && ((opcode >= 0x40 && opcode <= 0x4f) || opcode == 0x2c || opcode == 0x2d ||
                       opcode == 0xaf || (opcode >= 0xb6 && opcode != 0xba && opcode <= 0xc1));
}

bool Decoder::run(MemoryAccess* access) {
  if (!read_opcode() || has_short_addresses_) return false;
  if (map_ == 0 && opcode_ >= 0xa4 && opcode_ <= 0xaf && opcode_ != 0xa8 && opcode_ != 0xa9) {
    changes_address_ = true;
    return read_string(opcode_, access);
  }
  if (is_evex_ && !evex_form_is_known()) return false;
  const Form form = form_of();
  return form.size != 0 && read_operand(form, access) && !is_beyond();
}

}  // namespace

bool decode_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access) {
  return Decoder(code, registers).run(access);
}

bool find_access(const CodeView& code, const std::uintptr_t* registers, MemoryAccess* access) {
  const std::size_t length = length_before(code);
  if (length != 0) {
    const CodeView earlier{code.at - length, code.before - length, length, code.address - length};
    Decoder decoder(earlier, registers);
    // If the instruction has changed a register of its operand, the address is lost.
    if (decoder.run(access)) return !decoder.changes_address();
  }
  return decode_access(code, registers, access);
}

}  // namespace corbel::arch::x86_64
