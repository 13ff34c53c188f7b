// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/thread_stacks.hpp"

#include <atomic>

#include "alloc/map/instrument_hooks.hpp"
#include "alloc/map/metadata.hpp"
#include "arch/arch.hpp"
#include "base/bits.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Values of a thread's word, combined with the word's address: no other memory has them by chance.
constexpr std::uintptr_t kRuns = 0x5a17c0de00000001;
constexpr std::uintptr_t kEnded = 0x5a17c0de00000002;

CORBEL_THREAD_VARIABLE(std::uintptr_t, stack_word) = 0;

struct Record {
  std::uintptr_t word;  // the address of the thread's word
  // relaxed all: only the thread at that address writes them, and they are read when it is at rest
  std::atomic<std::uintptr_t> low, high, thread_pointer;
  Record* next;
};

constexpr unsigned kBuckets = 256;
constinit std::atomic<Record*> buckets[kBuckets];
constinit std::atomic<bool> watching{false};

std::atomic<Record*>& bucket_of(std::uintptr_t word) {
  return buckets[(word >> 12) * 0x9e3779b97f4a7c15U >> 56];
}

// The record of the calling thread's stack, a new one if there is none. nullptr if there is no
// memory. Records are never removed: another thread on the same stack has its word at the same
// place.
Record* own_record() {
  const std::uintptr_t word = address_of(&stack_word);
  std::atomic<Record*>& bucket = bucket_of(word);
  // (2) acquire: sees the records published by (1)
  Record* first = bucket.load(std::memory_order_acquire);
  for (Record* record = first; record != nullptr; record = record->next) {
    if (record->word == word) return record;
  }
  auto* record = static_cast<Record*>(allocate_metadata(sizeof(Record)));
  if (record == nullptr) return nullptr;
  record->word = word;
  record->next = first;
  // (1) release: publishes the record to (2); a failure reads again what it needs, the new first
  // record, of which (2) in another thread sees the content through this release
  while (!bucket.compare_exchange_weak(record->next, record, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return record;
}

}  // namespace

// relaxed: the first thread calls this, and the others are made later
void watch_thread_stacks() { watching.store(true, std::memory_order_relaxed); }

void note_thread_begins() {
  if (!watching.load(std::memory_order_relaxed)) return;  // relaxed: see above
  // What the system says of the main thread's stack is where it may grow to.
  if (os::is_main_thread(os::thread_id())) return;
  const os::StackRange stack = os::own_stack();
  Record* record = stack.low < stack.high ? own_record() : nullptr;
  // The word lies in the stack's memory only if the C library puts TLS there.
  if (record == nullptr || record->word < stack.low || record->word >= stack.high) return;
  record->low.store(stack.low, std::memory_order_relaxed);    // relaxed: see Record
  record->high.store(stack.high, std::memory_order_relaxed);  // relaxed: see Record
  record->thread_pointer.store(arch::thread_pointer(),
                               std::memory_order_relaxed);  // relaxed: see Record
  stack_word = address_of(&stack_word) ^ kRuns;
}

void note_thread_ends() {
  if (stack_word != 0) stack_word = address_of(&stack_word) ^ kEnded;
}

void for_each_thread_stack(void (*visit)(void*, const ThreadStack&), void* context) {
  for (const std::atomic<Record*>& bucket : buckets) {
    // (2) acquire: sees the records published by (1)
    const Record* record = bucket.load(std::memory_order_acquire);
    for (; record != nullptr; record = record->next) {
      std::uintptr_t word = 0;
      if (!os::copy_memory(&word, record->word, sizeof word)) continue;
      word ^= record->word;
      if (word != kRuns && word != kEnded) continue;
      // relaxed all: see Record
      const std::uintptr_t kept = record->thread_pointer.load(std::memory_order_relaxed);
      visit(context, {record->low.load(std::memory_order_relaxed),
                      record->high.load(std::memory_order_relaxed), kept,
                      kept + 2 * sizeof(std::uintptr_t), word == kEnded});
    }
  }
}

}  // namespace corbel::alloc
