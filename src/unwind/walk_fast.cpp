// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>

#include "base/bits.hpp"
#include "os/os.hpp"
#include "unwind/frame_chain.hpp"
#include "unwind/frame_rules.hpp"
#include "unwind/known_objects.hpp"
#include "unwind/row.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/walk.hpp"

namespace corbel::unwind {

namespace {

constexpr std::size_t kMapUnit = 64 * 1024;  // what os::map() requires

constinit std::atomic<RowCache*> row_cache{nullptr};

// Maps the cache at the first use: a process that locks its memory would pay for it without an
// instrument. Returns nullptr if the system has no memory.
RowCache* find_row_cache() {
  static_assert(sizeof(RowCache) % kMapUnit == 0);
  // (2) acquire: sees the zeroed entries published by (1)
  RowCache* cache = row_cache.load(std::memory_order_acquire);
  if (cache != nullptr) return cache;
  void* const fresh = os::map(sizeof(RowCache), kMapUnit, nullptr);
  if (fresh == nullptr) return nullptr;
  // (1) release: publishes the entries to (2); (2) acquire on failure: those of another thread
  if (row_cache.compare_exchange_strong(cache, static_cast<RowCache*>(fresh),
                                        std::memory_order_acq_rel, std::memory_order_acquire)) {
    return static_cast<RowCache*>(fresh);
  }
  os::unmap(fresh, sizeof(RowCache));
  return cache;
}

// The programs and libraries that the walk has met. It asks for each only once.
class MetObjects {
 public:
  struct Met {
    os::CodeObject object;
    std::uint32_t number;
  };

  // nullptr if the address is in no object.
  const Met* find(std::uintptr_t address) {
    if (is_in(*last_, address)) return last_;
    for (unsigned i = 0; i < count_; ++i) {
      if (is_in(met_[i], address)) return last_ = &met_[i];
    }
    // When all places are taken, the last one is used again and again.
    Met& next = met_[count_];
    if (!os::find_code(address, &next.object)) {
      next.object = {};
      return nullptr;
    }
    next.number = next.object.high - next.object.low <= UINT32_MAX ? number_of(next.object) : 0;
    if (count_ != kMaxMet - 1) ++count_;
    return last_ = &next;
  }

 private:
  static bool is_in(const Met& met, std::uintptr_t address) {
    return address - met.object.low < met.object.high - met.object.low;
  }

  static constexpr unsigned kMaxMet = 8;
  unsigned count_ = 0;
  Met met_[kMaxMet];
  const Met* last_ = met_;
};

class FastWalk {
 public:
  explicit FastWalk(const Place& place) : place_(place), memory_(place.stack) {}
  bool run(FrameList* list);

 private:
  Row row();
  __attribute__((noinline)) Row new_row(const MetObjects::Met* met, std::uintptr_t address);
  bool follow(Row row);
  bool follow_frame_pointer();
  bool follow_signal();

  Place place_;
  StackMemory memory_;
  MetObjects objects_;
  RowCache* const cache_ = find_row_cache();
  // False after a frame whose size is unknown: then `stack` is only a lower bound.
  bool knows_stack_ = true;
};

Row FastWalk::new_row(const MetObjects::Met* met, std::uintptr_t address) {
  FrameRules rules;
  const bool has_rules = met != nullptr && find_rules(met->object, address, &rules);
  Row row(Row::Kind::kFramePointer);
  // The rules for the frames of signals say the same, in a form that takes longer to follow.
  if ((!has_rules || rules.is_signal_frame) && is_signal_return_at(place_.pc)) {
    row = Row(Row::Kind::kSignal);
  } else if (has_rules) {
    row = Row(rules);
  }
  if (met == nullptr) return row;
  if (met->number != 0 && cache_ != nullptr) {
    cache_->add(met->number, std::uint32_t(address - met->object.low), row);
  }
  return row;
}

Row FastWalk::row() {
  const std::uintptr_t address = place_.pc - 1;
  const MetObjects::Met* const met = objects_.find(address);
  if (met != nullptr && met->number != 0 && cache_ != nullptr) {
    const Row row = cache_->find(met->number, std::uint32_t(address - met->object.low));
    if (row.kind() != Row::Kind::kNone) return row;
  }
  return new_row(met, address);
}

// Goes to the caller by the row's offsets. False at the end.
bool FastWalk::follow(Row row) {
  const bool by_stack = row.kind() == Row::Kind::kFromStack;
  if (by_stack && !knows_stack_) return follow_frame_pointer();
  const std::uintptr_t cfa = (by_stack ? place_.stack : place_.frame) + row.cfa_offset();
  const std::uintptr_t saved_at = cfa - row.saved_below();
  std::uintptr_t caller = 0;
  std::uintptr_t frame = place_.frame;
  if constexpr (arch::kReturnsByLinkRegister) {
    switch (row.saved()) {
      case Row::Saved::kNothing:
        caller = place_.link;
        break;
      case Row::Saved::kReturn:
        if (!memory_.load(saved_at, &caller)) return false;
        break;
      default:
        if (!memory_.load(saved_at, &frame)) return false;
        if (!memory_.load(saved_at + sizeof(std::uintptr_t), &caller)) return false;
    }
    // A leaf function may have no frame.
    if (cfa < place_.stack || (cfa == place_.stack && place_.link == 0)) return false;
  } else {
    if (cfa <= place_.stack) return false;
    if (!memory_.load(cfa - sizeof(std::uintptr_t), &caller)) return false;
    if (row.saved() != Row::Saved::kNothing && !memory_.load(saved_at, &frame)) return false;
  }
  // One word at a time: two that have just been stored cannot be forwarded to a load of both.
  place_.pc = caller;
  place_.stack = cfa;
  place_.frame = frame;
  place_.link = 0;
  knows_stack_ = true;
  return true;
}

bool FastWalk::follow_frame_pointer() {
  // An interrupted function of a library without rules is nearly always one without a frame, as the
  // stubs that call other libraries are.
  if (place_.link != 0 && objects_.find(place_.pc - 1) != nullptr) {
    const std::uintptr_t caller = arch::without_signature(place_.link);
    if (objects_.find(caller - 1) != nullptr) {
      place_ = {caller, place_.stack, place_.frame, 0};
      return true;
    }
  }
  FrameRecord record;
  if (!read_frame_record(place_.stack, place_.frame, memory_, &record)) return false;
  const std::uintptr_t caller = arch::without_signature(record.return_address);
  // What is neither followed by another record nor in a known object is no frame.
  if (!record.is_plausible && objects_.find(caller - 1) == nullptr) return false;
  place_ = {caller, place_.frame + sizeof(std::uintptr_t) * 2, record.frame, 0};
  knows_stack_ = !arch::kReturnsByLinkRegister;
  return true;
}

bool FastWalk::follow_signal() {
  const std::uintptr_t context = os::signal_context(place_.stack);
  const auto load = [&](int offset, std::uintptr_t* value) {
    return memory_.load(context + std::uintptr_t(offset), value);
  };
  Place next{};
  // The kernel leaves a record there that the frame pointer points to.
  if (!knows_stack_) return follow_frame_pointer();
  if (!load(os::context_offset_of_pc(), &next.pc) ||
      !load(os::context_offset(arch::kStackRegister), &next.stack) ||
      !load(os::context_offset(arch::kFrameRegister), &next.frame)) {
    return false;
  }
  if (arch::kReturnsByLinkRegister && !load(os::context_offset(arch::kReturnColumn), &next.link)) {
    return false;
  }
  ++next.pc;
  place_ = next;
  memory_.use_stack_of(next.stack);
  return true;
}

bool FastWalk::run(FrameList* list) {
  for (;;) {
    place_.pc = arch::without_signature(place_.pc);
    if (place_.pc < kMinCodeAddress || !list->add(place_.pc)) return true;
    const Row next = row();
    bool goes_on = false;
    switch (next.kind()) {
      case Row::Kind::kFromStack:
      case Row::Kind::kFromFrame:
        goes_on = follow(next);
        break;
      case Row::Kind::kFramePointer:
        goes_on = follow_frame_pointer();
        break;
      case Row::Kind::kSignal:
        goes_on = follow_signal();
        break;
      case Row::Kind::kOther:
        return false;
      case Row::Kind::kNone:
      case Row::Kind::kEnd:
        break;
    }
    if (!goes_on) return true;
  }
}

}  // namespace

bool walk_fast(Place place, FrameList* list) { return FastWalk(place).run(list); }

}  // namespace corbel::unwind
