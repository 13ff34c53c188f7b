// SPDX-License-Identifier: Apache-2.0
// Contexts: Corbel's is in the part of the object that the program's code never touches.
#include <new>

#include "tbb12/running.hpp"

namespace corbel::tbb12 {

namespace {

using Context = corbel::task_group_context;

void make(d1::task_group_context& c, Context::kind_type kind, std::uintptr_t traits) {
  Context* const own = ::new (static_cast<void*>(c.own)) Context(kind, traits);
  if (thread_data* const thread = corbel::detail::own_thread_data()) {
    context_access::take_floating_point(*own, *thread);
  }
}

}  // namespace

d1::task_group_context& no_context() {
  // Never destroyed: tasks may run until the process has ended.
  alignas(d1::task_group_context) static unsigned char memory[sizeof(d1::task_group_context)];
  static d1::task_group_context& context = []() -> d1::task_group_context& {
    auto* const c = ::new (static_cast<void*>(memory)) d1::task_group_context{};
    // Not by make(): the floating-point settings of the task that needs it first are not for all.
    ::new (static_cast<void*>(c->own)) Context(Context::isolated);
    return *c;
  }();
  return context;
}

}  // namespace corbel::tbb12

namespace tbb::detail::r1 {

using namespace corbel::tbb12;

// The program's constructor has stored the version, the traits and the name.
CORBEL_TBB12 void initialize(d1::task_group_context& c) {
  using Context = corbel::task_group_context;
  c.floating_point = 0;
  // relaxed, both: no other thread has the object yet
  c.is_cancelled.store(0, std::memory_order_relaxed);
  c.state.store(d1::task_group_context::kCreated, std::memory_order_relaxed);
  c.may_have_children = 0;
  c.actual = nullptr;
  const bool is_bound = (c.traits & d1::task_group_context::kBound) != 0;
  const bool captures = (c.traits & d1::task_group_context::kFloatingPoint) != 0;
  make(c, is_bound ? Context::bound : Context::isolated,
       captures ? Context::fp_settings : Context::default_traits);
}

CORBEL_TBB12 void destroy(d1::task_group_context& c) { d1::own_context(c).~task_group_context(); }

CORBEL_TBB12 void reset(d1::task_group_context& c) { d1::own_context(actual_context(c)).reset(); }

CORBEL_TBB12 bool cancel_group_execution(d1::task_group_context& c) {
  return d1::own_context(actual_context(c)).cancel_group_execution();
}

CORBEL_TBB12 bool is_group_execution_cancelled(d1::task_group_context& c) {
  return d1::own_context(actual_context(c)).is_group_execution_cancelled();
}

CORBEL_TBB12 void capture_fp_settings(d1::task_group_context& c) {
  d1::own_context(actual_context(c)).capture_fp_settings();
}

}  // namespace tbb::detail::r1
