// SPDX-License-Identifier: Apache-2.0
#include "compat/sched/classic_home.hpp"

#include <exception>

namespace corbel::compat {

using detail::classic_record;
using detail::context_node;
using sched::Thread;

ClassicHome& ClassicHome::of(Thread& t) {
  if (t.classic_home == nullptr) t.classic_home = new ClassicHome(t);
  return *static_cast<ClassicHome*>(t.classic_home);
}

void ClassicHome::set_group_here(Thread& t, classic_record& r) {
  if (t.context == &t.root) {
    r.set_group(of(t).group(), 0);
  } else {
    r.set_group(*t.context, classic_record::kBorrowed);
  }
}

// The bodies of algorithms may call algorithms, and each may have children and wait for them, so
// there is a task for each group in which somebody has asked. Nobody says when such a group is
// over. The list is in the order of use, and the last one of a long list that has no references
// serves for another group: no thread is as many groups deep.
task& ClassicHome::stand_in() {
  context_node& here = thread_.context == &thread_.root ? group() : *thread_.context;
  StandIn** place = &stand_ins_;
  StandIn** unused = nullptr;
  unsigned length = 0;
  for (; *place != nullptr; place = &(*place)->next, ++length) {
    if ((*place)->record().context == &here) break;
    if (length >= kManyStandIns && (*place)->ref_count() == 0) unused = place;
  }
  if (*place == nullptr && unused != nullptr) place = unused;
  StandIn* s = *place;
  if (s != nullptr) {
    *place = s->next;
  } else {
    s = new (task::allocate_root(group_)) StandIn;
    s->record().set_state(classic_record::kExecuting);
  }
  s->next = stand_ins_;
  stand_ins_ = s;
  if (s->record().context != &here || &here == &group()) set_group_here(thread_, s->record());
  return *s;
}

bool ClassicHome::is_outermost_wait(const detail::worker& w, const context_node& group) {
  if (w.classic.running != nullptr) return false;
  const Thread& t = static_cast<const Thread&>(w);
  const auto* const home = static_cast<const ClassicHome*>(t.classic_home);
  return home != nullptr && t.context == &t.root &&
         &group == &detail::context_access::node(const_cast<ClassicHome*>(home)->group_);
}

void ClassicHome::end_outermost_wait(Thread& t) {
  ClassicHome& home = of(t);
  if (!detail::find_cancelled(home.group())) return;
  std::exception_ptr error;
  try {
    detail::rethrow_exception(home.group());
  } catch (...) {
    error = std::current_exception();
  }
  home.group_.reset();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace corbel::compat
