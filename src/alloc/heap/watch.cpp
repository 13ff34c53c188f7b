// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap/watch.hpp"

#include "alloc/map/instrument_hooks.hpp"

namespace corbel::alloc {

constinit std::atomic<bool> watch_is_on{false};
thread_local constinit WatchedThread watched_thread{};

namespace {

void show_heap() {
  if (watched_thread.heap != nullptr) set_this_heap(&this_heap, watched_thread.heap);
}

void hide_heap() {
  Heap* const heap = heap_of_thread();
  watched_thread.heap = heap != &unset_heap ? heap : nullptr;
  set_this_heap(&this_heap, &unset_heap);
}

}  // namespace

bool first_call_is_watched() {
  set_up_checks();
  return call_is_watched();
}

InsideAllocator::InsideAllocator() {
  if (watched_thread.inside++ == 0) show_heap();
}

InsideAllocator::~InsideAllocator() {
  if (watched_thread.inside == 1) hide_heap();
  --watched_thread.inside;
}

ProgramCode::ProgramCode() : inside_(watched_thread.inside) {
  if (inside_ == 0) return;
  hide_heap();
  watched_thread.inside = 0;
}

ProgramCode::~ProgramCode() {
  if (inside_ == 0) return;
  watched_thread.inside = inside_;
  show_heap();
}

}  // namespace corbel::alloc
