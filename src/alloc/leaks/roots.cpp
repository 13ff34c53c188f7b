// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/roots.hpp"

#include "alloc/leaks/thread_stacks.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/map/page_map.hpp"
#include "alloc/pages/span_heap.hpp"
#include "alloc/policy/heap_limit.hpp"

namespace corbel::alloc {

namespace {

using os::MemoryArea;

constexpr std::size_t kBuffer = std::size_t(64) << 10;

// Code may keep data below the stack pointer without moving it: the red zone of x86-64.
constexpr std::uintptr_t kRedZone = 128;

bool is_constant(const MemoryArea& mapping) {
  return mapping.kind == MemoryArea::Kind::kPrivate && mapping.has_file && mapping.readable &&
         !mapping.writable;
}

// Memory without a file is a root even if it cannot be written to now: the program may have made it
// read-only when it was complete.
bool is_root(const MemoryArea& mapping) {
  if (!mapping.readable) return false;
  return mapping.kind == MemoryArea::Kind::kSharedMemory
             ? mapping.writable
             : mapping.kind == MemoryArea::Kind::kPrivate &&
                   (mapping.writable || !mapping.has_file);
}

// Calls `call(argument)`, for functions that take a function pointer and a context.
template <class Argument, class Call>
void call_with(void* call, const Argument& argument) {
  (*static_cast<Call*>(call))(argument);
}

template <class Call>
bool for_each_memory_area(Call call) {
  return os::for_each_memory_area(call_with<MemoryArea, Call>, &call);
}

template <class Call>
void for_each_thread(const os::StoppedThreads& threads, Call call) {
  threads.for_each(call_with<os::StoppedThread, Call>, &call);
}

template <class Call>
void for_each_stack(Call call) {
  for_each_thread_stack(call_with<ThreadStack, Call>, &call);
}

// The scan's stack, what exclude() adds, and what exclude_own_data() does.
constexpr std::size_t kOwnRanges = 5;

// The allocator's own variables lead to slabs and free blocks. They have one pointer that is the
// program's: the context of the limit callback.
void exclude_own_data(Ranges* excluded) {
  excluded->add(address_of(&span_heap), address_of(&span_heap + 1));
#if !CORBEL_STATIC
  const os::OwnImage library = os::own_image();
  excluded->add(library.start, address_of(&heap_limit));
  excluded->add(address_of(&heap_limit + 1), library.end);
#endif
}

}  // namespace

Roots::Result Roots::find(Scratch* scratch, const os::StoppedThreads& threads,
                          const LiveContext* own) {
  own_ = own;
  scratch_ = scratch;
  threads_ = &threads;
  std::size_t count = 0, stacks = 0;
  if (!for_each_memory_area([&](const MemoryArea&) { ++count; })) return Result::kNoMappings;
  for_each_thread(threads, [&](const os::StoppedThread&) { ++thread_count_; });
  for_each_stack([&](const ThreadStack&) { ++stacks; });
  count += 64;  // those that the scan adds meanwhile
  stack_pointers_ = scratch->array<std::uintptr_t>(thread_count_);
  buffer_ = scratch->array<std::uintptr_t>(kBuffer / sizeof(std::uintptr_t));
  constexpr std::size_t kScratchAreas = 16;
  if (!constants_.reserve(scratch, count) || !unreadable_.reserve(scratch, count) ||
      !mappings_.reserve(scratch, count) ||
      !excluded_.reserve(
          scratch, metadata_ranges() + kScratchAreas + kOwnRanges + 2 * stacks + thread_count_) ||
      scratch->failed()) {
    return Result::kNoMemory;
  }
  std::size_t i = 0;
  for_each_thread(threads, [&](const os::StoppedThread& thread) {
    if (i < thread_count_) stack_pointers_[i++] = thread.stack_pointer - kRedZone;
  });
  // Nothing is used below: the thread has called a function.
  if (own != nullptr) stack_pointers_[0] = own->stack_pointer;
  MemoryArea before;
  for_each_memory_area([&](const MemoryArea& mapping) {
    // What the linker has made read-only after the program's start (RELRO) lies before the data.
    // In a static program, the C library has stored pointers there.
    if (is_constant(before) && mapping.has_file && mapping.writable &&
        before.end == mapping.start) {
      mappings_.add(before.start, before.end);
    }
    before = mapping;
    if (is_constant(mapping)) constants_.add(mapping.start, mapping.end);
    if (!mapping.readable) unreadable_.add(mapping.start, mapping.end);
    if (!is_root(mapping)) return;
    mappings_.add(mapping.start, mapping.end);
    if (!mapping.is_stack) return;
    const std::uintptr_t used = least_stack_pointer(mapping.start, mapping.end);
    if (used != 0) excluded_.add(mapping.start, used);
  });
  constants_.finish();
  unreadable_.finish();
  mappings_.finish();
  return Result::kDone;
}

// A thread may run on memory within the stack of another, which uses its own from further down.
std::uintptr_t Roots::least_stack_pointer(std::uintptr_t low, std::uintptr_t high) const {
  std::uintptr_t least = 0;
  for (std::size_t t = 0; t < thread_count_; ++t) {
    const std::uintptr_t sp = stack_pointers_[t];
    if (sp >= low && sp < high && (least == 0 || sp < least)) least = sp;
  }
  return least;
}

// Of a stack that its thread has left for good, only the DTV's address is a root. In a stack that a
// thread runs on, what it uses is.
bool Roots::exclude_stacks() {
  bool all = true;
  for_each_stack([&](const ThreadStack& stack) {
    if (const std::uintptr_t used = least_stack_pointer(stack.low, stack.high); used != 0) {
      all = excluded_.add(stack.low, used) && all;
      return;
    }
    if (!stack.ended) return;
    all = excluded_.add(stack.low, std::min(stack.kept_low, stack.high)) && all;
    all = excluded_.add(std::max(stack.kept_high, stack.low), stack.high) && all;
  });
  return all;
}

void Roots::for_each_piece(void (*visit)(void*, const std::uintptr_t*, std::size_t),
                           void* context) {
  visit_ = visit;
  context_ = context;
  scratch_->for_each_area(
      [&](std::uintptr_t start, std::uintptr_t end) { excluded_.add(start, end); });
  for_each_metadata_range([](void* to, std::uintptr_t start,
                             std::uintptr_t end) { static_cast<Ranges*>(to)->add(start, end); },
                          &excluded_);
  const os::StackRange scratch_stack = threads_->scratch_stack();
  excluded_.add(scratch_stack.low, scratch_stack.high);
  exclude_own_data(&excluded_);
  exclude_stacks();
  excluded_.finish();
  for_each_thread(*threads_, [&](const os::StoppedThread& thread) {
    visit_(context_, thread.registers, thread.register_count);
  });
  if (own_ != nullptr) visit_(context_, own_->registers, own_->register_count);
  mappings_.for_each([&](std::uintptr_t start, std::uintptr_t end) {
    excluded_.for_each_gap(start, end,
                           [&](std::uintptr_t from, std::uintptr_t to) { visit_range(from, to); });
  });
}

// Leaves out the units that the allocator has blocks in, or free memory.
void Roots::visit_range(std::uintptr_t start, std::uintptr_t end) {
  std::uintptr_t run = start;
  for (std::uintptr_t unit = align_down(start, kUnit); unit < end; unit += kUnit) {
    const std::uintptr_t tag = find_span(pointer_to(unit))->tag();
    // A scan that knows only samples does not know the guarded blocks.
    if (tag == span_tag::kForeign || tag == span_tag::kGuarded) continue;
    if (run < unit) visit_readable(run, unit);
    run = unit + kUnit;
  }
  if (run < end) visit_readable(run, end);
}

void Roots::visit_readable(std::uintptr_t start, std::uintptr_t end) {
  const std::size_t page = os::page_size();
  start = align_up(start, sizeof(std::uintptr_t));
  struct Limits {
    Roots* roots;
    std::uintptr_t start, end;
  } limits{this, start, end};
  os::for_each_touched(
      align_down(start, page), align_up(end, page),
      [](void* to, std::uintptr_t from, std::uintptr_t until) {
        const Limits& l = *static_cast<Limits*>(to);
        from = std::max(from, l.start);
        until = std::min(until, l.end);
        const std::size_t unit = os::page_size();
        while (from < until) {
          std::size_t size = std::min<std::size_t>(until - from, kBuffer);
          // Pages may be unreadable within a mapping, as beyond the end of a file.
          if (!os::copy_memory(l.roots->buffer_, from, size)) {
            size = std::min<std::size_t>(align_down(from, unit) + unit - from, until - from);
            if (!os::copy_memory(l.roots->buffer_, from, size)) {
              from += size;
              continue;
            }
          }
          l.roots->visit_(l.roots->context_, l.roots->buffer_, size / sizeof(std::uintptr_t));
          from += size;
        }
      },
      &limits);
}

}  // namespace corbel::alloc
