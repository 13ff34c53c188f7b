// SPDX-License-Identifier: Apache-2.0
// The filters of a pipeline, the tokens that pass through them, and the gates that order the
// tokens. Not for programs to include.
#ifndef CORBEL_DETAIL_PIPELINE_STAGE_HPP
#define CORBEL_DETAIL_PIPELINE_STAGE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/mutex_guard.hpp>
#include <corbel/detail/outside_slot.hpp>
#include <corbel/detail/task.hpp>
#include <corbel/detail/trace.hpp>

namespace corbel {
namespace detail {

// One filter, as the pipeline sees it.
class pipeline_stage {
 public:
  // Of the items that the filter takes, in bytes. The first filter takes none: size 0.
  const std::size_t size, alignment;
  const bool is_serial, is_in_order;
  // Where a thread of the program finds the tokens for which it calls the filter; else nullptr.
  // Only for serial filters.
  outside_slot* const outside;

  pipeline_stage(std::size_t s, std::size_t a, bool serial, bool in_order,
                 outside_slot* slot = nullptr)
      : size(s), alignment(a), is_serial(serial), is_in_order(in_order), outside(slot) {}
  virtual ~pipeline_stage() = default;
  pipeline_stage(const pipeline_stage&) = delete;
  pipeline_stage& operator=(const pipeline_stage&) = delete;

  // Calls the program's function with the item at `in`, constructs the result at `out` and destroys
  // the item at `in`, even if the function throws. Returns false if the function is that of the
  // first filter and has stopped the pipeline: then there is no object at `out`.
  virtual bool run(void* in, void* out) const = 0;
  // Destroys the item at `in`.
  virtual void drop(void* in) const noexcept = 0;
};

using stage_list = std::vector<const pipeline_stage*>;

class pipeline_call;

struct token : task_base {
  pipeline_call* owner;
  token* next;           // in a list of parked or free tokens
  token* next_made;      // in the list of all tokens
  std::uint64_t number;  // of the item, in the order of serial_in_order filters
  std::size_t stage;     // the filter it is in, or enters next
  bool may_enter;        // the gate of that filter is held for this token
  bool has_item;         // there is an item for that filter
  bool is_back;          // a thread outside has called the filter; `passed` is the result
  bool passed;
  path_mark left;            // where it was parked, or where its item was allowed to be live
  unsigned char* buffer[2];  // the item is in the first, its filter's result goes into the other
};

// The critical sections of a pipeline take a few instructions, except where it makes a token or
// lengthens a ring, which it does only until there are as many as it needs.
using pipeline_lock = mutex_guard<spinning_mutex>;

// The entrance of a serial filter. Parks tokens that arrive too early.
class serial_gate {
 public:
  // Admits tokens in the order of their arrival. If `numbers`, their items get numbers in this
  // order.
  void set_unordered(bool numbers) {
    in_order_ = false;
    numbers_ = numbers;
  }

  // Returns whether the token has entered. If not, the token is parked, and another thread may
  // already have it.
  bool enter(token& t) {
    const pipeline_lock lock(mutex_);
    if (!busy_ && (!in_order_ || t.number == next_)) {
      if (numbers_) t.number = next_++;
      busy_ = true;
      return true;
    }
    park(t);
    return false;
  }

  // Used by the token that is inside: the last one that left the filter.
  path_mark last_left;

  // Called by the thread that leaves the filter. Returns the token that enters next, for which the
  // gate stays busy; nullptr if there is none.
  token* leave() {
    const pipeline_lock lock(mutex_);
    token* const t = in_order_ ? take_parked(++next_) : take_first_parked();
    if (t == nullptr) {
      busy_ = false;
    } else if (numbers_) {
      t->number = next_++;
    }
    return t;
  }

 private:
  void park(token& t) {
    if (in_order_) {
      while (t.number - next_ >= parked_.size()) lengthen();
      parked_[t.number % parked_.size()] = &t;
      return;
    }
    t.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &t;
    last_ = &t;
  }

  token* take_first_parked() {
    token* const t = first_;
    if (t == nullptr) return nullptr;
    first_ = t->next;
    if (first_ == nullptr) last_ = nullptr;
    return t;
  }

  token* take_parked(std::uint64_t number) {
    if (parked_.empty()) return nullptr;
    token*& t = parked_[number % parked_.size()];
    token* const found = t;
    t = nullptr;
    return found;
  }

  void lengthen() {
    std::vector<token*> longer(parked_.empty() ? 16 : 2 * parked_.size());
    for (token* const t : parked_) {
      if (t != nullptr) longer[t->number % longer.size()] = t;
    }
    parked_.swap(longer);
  }

  spinning_mutex mutex_;
  bool busy_ = false;
  bool in_order_ = true;
  bool numbers_ = false;
  // In order: the number of the token that is inside or enters next. Else the next number to give.
  std::uint64_t next_ = 0;
  std::vector<token*> parked_;  // in order: a ring buffer, indexed by number
  token* first_ = nullptr;      // unordered: a queue
  token* last_ = nullptr;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_PIPELINE_STAGE_HPP
