// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/watch.hpp"

#include "alloc/map/instrument_hooks.hpp"

namespace corbel::alloc {

constinit std::atomic<bool> watch_is_on{false};
CORBEL_DECLARED_THREAD_VARIABLE(WatchedThread, watched_thread){};

namespace {

void show_heap() {
  if (watched().heap != nullptr) set_this_heap(&this_heap, watched().heap);
}

}  // namespace

void hide_heap() {
  Heap* const heap = heap_of_thread();
  watched().heap = heap != &unset_heap ? heap : nullptr;
  set_this_heap(&this_heap, &unset_heap);
}

bool first_call_is_watched() {
  set_up_checks();
  return call_is_watched();
}

InsideAllocator::InsideAllocator() {
  if (watched().inside++ == 0) show_heap();
}

InsideAllocator::~InsideAllocator() {
  if (watched().inside == 1) hide_heap();
  --watched().inside;
}

ProgramCode::ProgramCode() : inside_(watched().inside) {
  if (inside_ == 0) return;
  hide_heap();
  watched().inside = 0;
}

ProgramCode::~ProgramCode() {
  if (inside_ == 0) return;
  watched().inside = inside_;
  show_heap();
}

}  // namespace corbel::alloc
