// SPDX-License-Identifier: Apache-2.0
#include "unwind/frame_chain.hpp"

#include <cstddef>

#include "arch/arch.hpp"
#include "base/bits.hpp"
#include "os/os.hpp"

namespace corbel::unwind {

namespace {

constexpr std::size_t kWord = sizeof(std::uintptr_t);

// A frame pointer that lies so far above another one on the same stack is none.
constexpr std::size_t kMaxFrameSize = std::size_t{64} << 20;

bool may_follow(std::uintptr_t frame, std::uintptr_t lower) {
  return frame > lower && frame - lower <= kMaxFrameSize && frame % kWord == 0;
}

}  // namespace

bool read_frame_record(std::uintptr_t stack, std::uintptr_t frame, StackMemory& memory,
                       FrameRecord* record) {
  if (frame != stack && !may_follow(frame, stack)) return false;
  if (!memory.load(frame, &record->frame)) return false;
  if (!memory.load(frame + kWord, &record->return_address)) return false;
  record->is_plausible = record->frame == 0 || may_follow(record->frame, frame);
  const std::uintptr_t code = arch::without_signature(record->return_address);
  return code >= kMinCodeAddress && code >> arch::kAddressBits == 0;
}

bool is_signal_return_at(std::uintptr_t pc) {
  constexpr std::size_t kPage = 4096;
  const std::uintptr_t first = align_down(pc, kPage);
  const std::uintptr_t last = align_down(pc + os::kSignalReturnSize - 1, kPage);
  if (!os::can_read(first) || (last != first && !os::can_read(last))) return false;
  return os::is_signal_return(pc);
}

}  // namespace corbel::unwind
