// SPDX-License-Identifier: Apache-2.0
#include "unwind/row.hpp"

namespace corbel::unwind {

namespace {

using RuleKind = Rule::Kind;

bool is_unchanged(const Rule& rule) {
  // An undefined frame pointer: the function has lost its caller's, so no caller needs it.
  return rule.kind == RuleKind::kSame || rule.kind == RuleKind::kUndefined;
}

// Sets `*words` to the distance below the CFA of the register's place, in words.
bool words_below(const Rule& rule, std::uint32_t max, std::uint32_t* words) {
  constexpr std::int32_t kWord = sizeof(std::uintptr_t);
  if (rule.kind != RuleKind::kAtOffset || rule.value >= 0 || rule.value % kWord != 0) return false;
  *words = std::uint32_t(-(rule.value / kWord));
  return *words <= max;
}

}  // namespace

Row::Row(const FrameRules& rules) {
  const Rule& cfa = rules.cfa;
  const Rule& frame = rules.registers[arch::kFrameRegister];
  const Rule& ret = rules.registers[arch::kReturnColumn];
  if (ret.kind == RuleKind::kUndefined) {
    bits_ = std::uint32_t(Kind::kEnd);
    return;
  }
  bits_ = std::uint32_t(Kind::kOther);
  Kind kind = Kind::kFromStack;
  if (cfa.number == arch::kFrameRegister)
    kind = Kind::kFromFrame;
  else if (cfa.number != arch::kStackRegister)
    return;
  if (cfa.kind != RuleKind::kOffset || rules.is_signal_frame || cfa.value < 0 ||
      cfa.value % std::int32_t{kWord} != 0 || std::uint32_t(cfa.value) / kWord > kMaxWords ||
      rules.registers[arch::kStackRegister].kind != RuleKind::kSame) {
    return;
  }
  Saved saved = Saved::kNothing;
  std::uint32_t below = 0;
  std::uint32_t ret_below = 0;
  const bool keeps_frame = is_unchanged(frame);
  if (!keeps_frame && !words_below(frame, kMaxWords, &below)) return;
  if (!arch::kReturnsByLinkRegister) {
    if (!words_below(ret, kMaxWords, &ret_below) || ret_below != 1) return;
    if (!keeps_frame) saved = Saved::kFramePointer;
  } else if (ret.kind == RuleKind::kSame) {
    if (!keeps_frame) return;
  } else {
    if (!words_below(ret, kMaxWords, &ret_below)) return;
    if (!keeps_frame && ret_below + 1 != below) return;
    saved = keeps_frame ? Saved::kReturn : Saved::kFramePointerAndReturn;
    below = keeps_frame ? ret_below : below;
  }
  bits_ = std::uint32_t(kind) | std::uint32_t(saved) << 3 | std::uint32_t(cfa.value) / kWord << 5 |
          below << 18;
}

}  // namespace corbel::unwind
