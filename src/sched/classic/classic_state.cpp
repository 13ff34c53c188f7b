// SPDX-License-Identifier: Apache-2.0
#include "sched/classic/classic_state.hpp"

#include <atomic>
#include <exception>

#include "sched/core/program_runtime.hpp"

namespace corbel::classic {

using detail::classic_record;
using detail::context_node;
using sched::Thread;

namespace {

// States with placeholders that have children, which may outlast everything.
constinit std::atomic<ClassicState*> left{nullptr};

}  // namespace

ClassicState& ClassicState::of(Thread& t) {
  if (t.classic_state != nullptr) return *static_cast<ClassicState*>(t.classic_state);
  ClassicState* state = static_cast<ClassicState*>(t.former_classic_state);
  if (state != nullptr && !state->has_children()) {
    if (!state->group_->is_unused()) state->renew_group();
    for (Placeholder* p = state->placeholders_; p != nullptr; p = p->next) p->set_parent(nullptr);
  } else {
    ClassicState* const former = state;
    state = new ClassicState(t);
    if (former != nullptr) {
      former->next_left_ = left.load(std::memory_order_relaxed);  // relaxed: only to link it
      // relaxed, both: no thread reads the list, which leads leak checkers to what is in use
      while (!left.compare_exchange_weak(former->next_left_, former, std::memory_order_relaxed,
                                         std::memory_order_relaxed)) {
      }
    }
  }
  t.former_classic_state = nullptr;
  t.classic_state = state;
  return *state;
}

// Whether a placeholder has more references than a thread begins with.
bool ClassicState::has_children() {
  for (Placeholder* p = placeholders_; p != nullptr; p = p->next) {
    // That of the thread itself has a reference for a wait.
    if (p->ref_count() > (p->record().context == &group() ? 1 : 0)) return true;
  }
  return false;
}

void ClassicState::renew_group() {
  OwnGroup& fresh = OwnGroup::take();
  for (Placeholder* p = placeholders_; p != nullptr; p = p->next) {
    if (p->record().context == &group()) p->record().set_group(fresh.node(), classic_record::kOwn);
  }
  OwnGroup::give_back(*group_);
  group_ = &fresh;
}

void ClassicState::set_lasting_group(Thread& t, classic_record& r) {
  ClassicState& state = of(t);
  if (t.is_worker && detail::find_cancelled(state.group())) state.renew_group();
  r.set_group(state.group(), classic_record::kOwn);
}

void ClassicState::set_group_here(Thread& t, classic_record& r) {
  if (t.context == &t.root) {
    r.set_group(of(t).group(), classic_record::kOwn);
  } else {
    r.set_group(*t.context, classic_record::kBorrowed);
  }
}

// Bodies of algorithms may call algorithms, and each may have children and wait for them. So there
// is one placeholder for each group in which the program has asked for one. The library does not
// learn when such a group ends. The list is in the order of use, the latest first; if it is long,
// the last placeholder without references is reused for another group, since no thread has so many
// nested groups.
task& ClassicState::placeholder() {
  context_node& here = thread_.context == &thread_.root ? group() : *thread_.context;
  Placeholder** link = &placeholders_;
  Placeholder** unused = nullptr;
  unsigned length = 0;
  for (; *link != nullptr; link = &(*link)->next, ++length) {
    if ((*link)->record().context == &here) break;
    if (length >= kManyPlaceholders && (*link)->ref_count() == 0) unused = link;
  }
  if (*link == nullptr && unused != nullptr) link = unused;
  Placeholder* s = *link;
  if (s != nullptr) {
    *link = s->next;
    if (link == unused) s->set_parent(nullptr);
  } else {
    s = new (task::allocate_root(*group_)) Placeholder;
    s->record().set_state(classic_record::kExecuting);
  }
  s->next = placeholders_;
  placeholders_ = s;
  // A wait sets the count to 0. Programs add children of a thread without another set_ref_count.
  if (&here == &group() && s->ref_count() == 0) s->set_ref_count(1);
  if (s->record().context != &here || &here == &group()) set_group_here(thread_, s->record());
  return *s;
}

bool ClassicState::is_outermost_wait(const detail::thread_data& thread, const context_node& group) {
  if (thread.classic.running != nullptr) return false;
  const Thread& t = static_cast<const Thread&>(thread);
  const auto* const state = static_cast<const ClassicState*>(t.classic_state);
  return state != nullptr && t.context == &t.root && &group == &state->group_->node();
}

void ClassicState::end_outermost_wait(Thread& t) {
  ClassicState& state = of(t);
  if (!detail::find_cancelled(state.group())) return;
  const std::exception_ptr error =
      sched::exception_of([&] { detail::rethrow_exception(state.group()); });
  state.group_->reset();
  if (error != nullptr) sched::throw_again(error);
}

}  // namespace corbel::classic
