// SPDX-License-Identifier: Apache-2.0
#include "os/os.hpp"
#include "unwind/expression.hpp"
#include "unwind/frame_chain.hpp"
#include "unwind/frame_rules.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/unwind.hpp"
#include "unwind/walk.hpp"

namespace corbel::unwind {

namespace {

class FullWalk {
 public:
  // `registers.pc` is a return address, or that of an interrupted instruction plus 1.
  FullWalk(const arch::Registers& registers, bool is_interrupted)
      : registers_(registers),
        memory_(registers.at[arch::kStackRegister]),
        knows_link_(arch::kReturnsByLinkRegister && is_interrupted) {}

  std::uintptr_t pc() const { return registers_.pc; }
  const arch::Registers& registers() const { return registers_; }
  std::uintptr_t stack() const { return registers_.at[arch::kStackRegister]; }
  // Goes to the caller. False at the end.
  bool step();

 private:
  bool follow(const FrameRules& rules);
  bool follow_link();
  bool follow_frame_pointer();
  bool follow_signal();
  bool compute(const FrameRules& rules, const Rule& rule, const std::uintptr_t* cfa,
               std::uintptr_t* value);

  arch::Registers registers_;
  StackMemory memory_;
  bool knows_stack_ = true;
  bool knows_link_;  // the link register is that of an interrupted function
};

// What the rule says; `cfa` is nullptr for the rule of the CFA itself.
bool FullWalk::compute(const FrameRules& rules, const Rule& rule, const std::uintptr_t* cfa,
                       std::uintptr_t* value) {
  const auto offset = std::uintptr_t(std::intptr_t{rule.value});
  switch (rule.kind) {
    case Rule::Kind::kSame:
    case Rule::Kind::kUndefined:
      return true;
    case Rule::Kind::kAtOffset:
      return memory_.load(*cfa + offset, value);
    case Rule::Kind::kOffset:
      *value = (cfa != nullptr ? *cfa : registers_.at[rule.number]) + offset;
      return true;
    case Rule::Kind::kRegister:
      if (offset >= arch::kRegisters) return false;
      *value = registers_.at[offset];
      return true;
    case Rule::Kind::kExpression:
      return evaluate(rules, rule, cfa, registers_, memory_, value);
    case Rule::Kind::kAtExpression: {
      std::uintptr_t at = 0;
      return evaluate(rules, rule, cfa, registers_, memory_, &at) && memory_.load(at, value);
    }
  }
  return false;
}

bool FullWalk::follow(const FrameRules& rules) {
  if (rules.registers[arch::kReturnColumn].kind == Rule::Kind::kUndefined) return false;
  std::uintptr_t cfa = 0;
  if (!compute(rules, rules.cfa, nullptr, &cfa)) return false;
  arch::Registers next = registers_;
  next.at[arch::kStackRegister] = cfa;
  for (unsigned i = 0; i < arch::kRegisters; ++i) {
    if (!compute(rules, rules.registers[i], &cfa, &next.at[i])) return false;
  }
  next.pc = arch::without_signature(next.at[arch::kReturnColumn]);
  const std::uintptr_t next_stack = next.at[arch::kStackRegister];
  if (rules.is_signal_frame) {
    ++next.pc;
  } else if (next_stack < stack() || (next_stack == stack() && next.pc == registers_.pc)) {
    return false;
  }
  registers_ = next;
  knows_stack_ = true;
  knows_link_ = arch::kReturnsByLinkRegister && rules.is_signal_frame;
  if (rules.is_signal_frame) memory_.use_stack_of(next_stack);
  return true;
}

// As FastWalk does for a function of a library without rules.
bool FullWalk::follow_link() {
  const std::uintptr_t caller = arch::without_signature(registers_.at[arch::kReturnColumn]);
  os::CodeObject object;
  if (!knows_link_ || !os::find_code(caller - 1, &object)) return false;
  registers_.pc = caller;
  knows_link_ = false;
  return true;
}

bool FullWalk::follow_frame_pointer() {
  FrameRecord record;
  const std::uintptr_t frame = registers_.at[arch::kFrameRegister];
  if (!read_frame_record(stack(), frame, memory_, &record)) return false;
  const std::uintptr_t caller = arch::without_signature(record.return_address);
  os::CodeObject object;
  if (!record.is_plausible && !os::find_code(caller - 1, &object)) return false;
  registers_.pc = caller;
  registers_.at[arch::kStackRegister] = frame + sizeof(std::uintptr_t) * 2;
  registers_.at[arch::kFrameRegister] = record.frame;
  knows_stack_ = !arch::kReturnsByLinkRegister;
  knows_link_ = false;
  return true;
}

bool FullWalk::follow_signal() {
  const std::uintptr_t context = os::signal_context(stack());
  const auto load = [&](int offset, std::uintptr_t* value) {
    return memory_.load(context + std::uintptr_t(offset), value);
  };
  arch::Registers next{};
  // As FastWalk does.
  if (!knows_stack_) return follow_frame_pointer();
  if (!load(os::context_offset_of_pc(), &next.pc)) return false;
  for (unsigned i = 0; i < arch::kRegisters; ++i) {
    if (!load(os::context_offset(i), &next.at[i])) return false;
  }
  ++next.pc;
  registers_ = next;
  knows_link_ = arch::kReturnsByLinkRegister;
  memory_.use_stack_of(stack());
  return true;
}

bool FullWalk::step() {
  os::CodeObject object;
  const std::uintptr_t address = registers_.pc - 1;
  const bool is_in_object = os::find_code(address, &object);
  FrameRules rules;
  const bool has_rules = is_in_object && find_rules(object, address, &rules);
  if ((!has_rules || rules.is_signal_frame) && is_signal_return_at(registers_.pc)) {
    return follow_signal();
  }
  if (!has_rules) return (is_in_object && follow_link()) || follow_frame_pointer();
  const bool by_stack =
      rules.cfa.kind == Rule::Kind::kOffset && rules.cfa.number == arch::kStackRegister;
  return by_stack && !knows_stack_ ? follow_frame_pointer() : follow(rules);
}

// More frames than any stack has room for. A damaged one may lead in a circle.
constexpr unsigned kMaxSteps = 1U << 20;

void add_all(FullWalk& walk, FrameList* list) {
  while (walk.pc() >= kMinCodeAddress && list->add(walk.pc()) && walk.step()) {
  }
}

}  // namespace

void walk_all(const arch::Registers& registers, FrameList* list) {
  FullWalk walk(registers, true);
  add_all(walk, list);
}

__attribute__((noinline)) void walk_all_from(std::uintptr_t first_stack, FrameList* list) {
  arch::Registers registers{};
  arch::read_registers(&registers);
  FullWalk walk(registers, false);
  for (unsigned i = 0; walk.stack() < first_stack; ++i) {
    if (i == kMaxSteps || walk.pc() < kMinCodeAddress || !walk.step()) return;
  }
  if (walk.stack() == first_stack) add_all(walk, list);
}

namespace {

bool walk_to(FullWalk& walk, CodeRange code) {
  for (unsigned i = 0; i != kMaxSteps && walk.pc() >= kMinCodeAddress; ++i) {
    if (code.has_return(reinterpret_cast<const void*>(walk.pc()))) return true;
    if (!walk.step()) return false;
  }
  return false;
}

}  // namespace

__attribute__((noinline)) bool find_frame(CodeRange code, arch::Registers* registers) {
  arch::Registers here{};
  arch::read_registers(&here);
  FullWalk walk(here, false);
  if (!walk_to(walk, code)) return false;
  *registers = walk.registers();
  return true;
}

__attribute__((noinline)) bool find_caller(CodeRange code, arch::Registers* registers) {
  arch::Registers here{};
  arch::read_registers(&here);
  FullWalk walk(here, false);
  if (!walk_to(walk, code) || !walk.step()) return false;
  *registers = walk.registers();
  return true;
}

}  // namespace corbel::unwind
