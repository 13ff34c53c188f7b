// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/foreign.hpp"

#include <atomic>

#include "alloc/map/die.hpp"

namespace corbel::alloc {

namespace {

constinit std::atomic<const ForeignHandlers*> handlers{nullptr};

// (1) acquire: sees the handlers published by (2)
const ForeignHandlers* current() { return handlers.load(std::memory_order_acquire); }

}  // namespace

void set_foreign_handlers(const ForeignHandlers* value) noexcept {
  handlers.store(value, std::memory_order_release);  // (2) release: publishes the handlers to (1)
}

void free_foreign(void* block) {
  const ForeignHandlers* h = current();
  if (h == nullptr) die("free", "the pointer was not allocated here", block);
  h->free(block);
}

void* reallocate_foreign(void* block, std::size_t size) {
  const ForeignHandlers* h = current();
  if (h == nullptr) die("realloc", "the pointer was not allocated here", block);
  return h->realloc(block, size);
}

std::size_t foreign_size(const void* block) {
  const ForeignHandlers* h = current();
  return h != nullptr ? h->usable_size(const_cast<void*>(block)) : 0;
}

}  // namespace corbel::alloc
