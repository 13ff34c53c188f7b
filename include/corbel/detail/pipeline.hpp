// SPDX-License-Identifier: Apache-2.0
// How items pass through the filters of a pipeline. Not for programs to include.
//
// A token carries an item. There are at most as many tokens as items may be live. A thread moves a
// token from filter to filter as long as it can. If it is not the token's turn at a serial filter,
// the token is parked there and the thread looks for other work. The thread that leaves the filter
// spawns the token whose turn it is, then continues with its own. So no thread ever waits for
// another.
//
// Why no token stays parked: a token is parked because its filter is busy, or because a token with
// a lower number has not arrived. In the first case a task has the token that keeps the filter
// busy, and leaving the filter spawns the next one. In the second case either a task has the
// missing token, or that token is parked at an earlier filter. The argument repeats there; as there
// is a first filter, it ends at a token that a task has. Each task ends by parking its token, by
// spawning the next token or by reading the next item, until there are no more. If the group is
// cancelled, tokens stay where they are, and are destroyed with the call of the pipeline.
#ifndef CORBEL_DETAIL_PIPELINE_HPP
#define CORBEL_DETAIL_PIPELINE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/mutex.hpp>

namespace corbel {
namespace detail {

// One filter, as the pipeline sees it.
class pipeline_stage {
 public:
  // Of the items that the filter takes, in bytes. The first filter takes none: size 0.
  const std::size_t size, alignment;
  const bool is_serial, is_in_order;

  pipeline_stage(std::size_t s, std::size_t a, bool serial, bool in_order)
      : size(s), alignment(a), is_serial(serial), is_in_order(in_order) {}
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
  token* next;               // in a list of parked or free tokens
  token* next_made;          // in the list of all tokens
  std::uint64_t number;      // of the item, in the order of serial_in_order filters
  std::size_t stage;         // the filter it is in, or enters next
  bool may_enter;            // the gate of that filter is held for this token
  bool has_item;             // there is an item for that filter
  path_mark left;            // where it was parked, or where its item was allowed to be live
  unsigned char* buffer[2];  // the item is in the first, its filter's result goes into the other
};

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
    mutex::scoped_lock lock(mutex_);
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
    mutex::scoped_lock lock(mutex_);
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

  mutex mutex_;
  bool busy_ = false;
  bool in_order_ = true;
  bool numbers_ = false;
  // In order: the number of the token that is inside or enters next. Else the next number to give.
  std::uint64_t next_ = 0;
  std::vector<token*> parked_;  // in order: a ring buffer, indexed by number
  token* first_ = nullptr;      // unordered: a queue
  token* last_ = nullptr;
};

// One call of parallel_pipeline.
class pipeline_call {
 public:
  pipeline_call(context_node& group, const stage_list& stages, std::size_t max_tokens)
      : group_(group),
        stages_(stages),
        gates_(new serial_gate[stages.size()]),
        max_tokens_(max_tokens == 0 ? 1 : max_tokens) {
    for (const pipeline_stage* const s : stages) {
      if (s->size > buffer_size_) buffer_size_ = s->size;
      if (s->alignment > alignment_) alignment_ = s->alignment;
    }
    buffer_size_ = (buffer_size_ + alignment_ - 1) / alignment_ * alignment_;
    bool numbered = stages[0]->is_serial;
    for (std::size_t i = 1; i < stages.size(); ++i) {
      const bool numbers = stages[i]->is_in_order && !numbered;
      if (!stages[i]->is_in_order || numbers) gates_[i].set_unordered(numbers);
      numbered = numbered || numbers;
    }
  }

  ~pipeline_call() {
    while (token* const t = made_) {
      made_ = t->next_made;
      if (t->has_item) stages_[t->stage]->drop(t->buffer[0]);
      t->~token();
      deallocate_block(t, token_bytes());
    }
  }
  pipeline_call(const pipeline_call&) = delete;
  pipeline_call& operator=(const pipeline_call&) = delete;

  void run(thread_data& thread) {
    const call_trace trace(thread);
    call_captured(group_, [&] {
      reader_ = true;
      carry(thread, make_token());
    });
    pending_.wait(thread);
  }

 private:
  // ---- tokens

  std::size_t token_bytes() const { return sizeof(token) + alignment_ + 2 * buffer_size_; }

  // Called under mutex_, except for the first token.
  token& make_token() {
    void* const block = allocate_block(token_bytes());
    token* const t = ::new (block) token;
    t->run = &run_token;
    t->context = &group_;
    t->owner = this;
    t->stage = 0;
    t->may_enter = false;
    t->has_item = false;
    const std::size_t after = reinterpret_cast<std::size_t>(t + 1);
    t->buffer[0] = reinterpret_cast<unsigned char*>(t + 1) + (alignment_ - after % alignment_);
    t->buffer[1] = t->buffer[0] + buffer_size_;
    t->next_made = made_;
    made_ = t;
    ++tokens_made_;
    return *t;
  }

  static task_base* run_token(task_base* self, thread_data& thread, bool cancelled) {
    token& t = *static_cast<token*>(self);
    pipeline_call& call = *t.owner;
    if (!cancelled) call_captured(call.group_, [&] { call.carry(thread, t); });
    call.pending_.release(thread);
    return nullptr;
  }

  // Moves the token on until it is parked or free, or the group is cancelled.
  void carry(thread_data& thread, token& t) {
    t.left.join(thread);
    while (!thread.is_cancelled(group_)) {
      if (t.stage == 0) {
        if (!read(thread, t)) return;
      } else {
        serial_gate& gate = gates_[t.stage];
        const bool is_serial = stages_[t.stage]->is_serial;
        if (is_serial && !t.may_enter) {
          t.left.set(thread);
          if (!gate.enter(t)) return;
        }
        t.may_enter = false;
        if (is_serial) gate.last_left.join(thread);
        pass(t);
        if (is_serial) {
          gate.last_left.set(thread);
          if (token* const next = gate.leave()) {
            next->may_enter = true;
            spawn_counted(thread, pending_, *next);
          }
        }
      }
      if (t.stage == stages_.size() && !becomes_reader(thread, t)) return;
    }
  }

  // Runs the token's filter. Returns false if that stopped the pipeline.
  bool pass(token& t) {
    t.has_item = false;
    if (!stages_[t.stage]->run(t.buffer[0], t.buffer[1])) return false;
    std::swap(t.buffer[0], t.buffer[1]);
    ++t.stage;
    t.has_item = t.stage < stages_.size();
    return true;
  }

  // ---- reading

  // Runs the first filter. One token at a time is the reader. If the filter is parallel, the token
  // passes the role on before it calls the filter, else afterwards.
  bool read(thread_data& thread, token& t) {
    const bool is_serial = stages_[0]->is_serial;
    if (!is_serial && !pass_on_reading(thread, t)) return false;
    if (!pass(t)) {
      mutex::scoped_lock lock(mutex_);
      stopped_ = true;
      return false;
    }
    return !is_serial || pass_on_reading(thread, t);
  }

  // Numbers the token's item and makes another token the reader, if one is free or may be made.
  // Returns false if the pipeline was stopped.
  bool pass_on_reading(thread_data& thread, token& t) {
    token* next = nullptr;
    {
      mutex::scoped_lock lock(mutex_);
      if (stopped_) return false;
      t.number = read_++;
      last_read_.set(thread);
      reader_ = false;
      next = free_;
      if (next != nullptr) {
        free_ = next->next;
      } else if (tokens_made_ < max_tokens_) {
        next = &make_token();
      }
      reader_ = next != nullptr;
      if (CORBEL_UNLIKELY(thread.trace != nullptr && reader_)) trace_next(*next);
    }
    if (next != nullptr) spawn_counted(thread, pending_, *next);
    return true;
  }

  // Called when the token's item has left the pipeline. Returns whether the token is the reader
  // now; else it is free, and another thread may already have it.
  bool becomes_reader(thread_data& thread, token& t) {
    t.stage = 0;
    mutex::scoped_lock lock(mutex_);
    if (CORBEL_UNLIKELY(thread.trace != nullptr)) trace_gone(thread);
    if (!stopped_ && !reader_) {
      reader_ = true;
      if (CORBEL_UNLIKELY(thread.trace != nullptr)) {
        trace_end(thread, &pending_);
        trace_next(t);
        t.left.restart(thread);
        last_read_.join(thread);
      }
      return true;
    }
    t.next = free_;
    free_ = &t;
    return false;
  }

  // ---- tracing: with a processor for every token, the number of tokens delays an item until
  // enough others have left the pipeline, whichever token carries it. Called under mutex_.

  // An item has left.
  void trace_gone(thread_data& thread) {
    gone_.emplace_back();
    gone_.back().set(thread);
    std::push_heap(gone_.begin(), gone_.end(), std::greater<path_mark>());
  }

  // The token may take the next item.
  void trace_next(token& t) {
    t.left = path_mark();
    if (++allowed_ <= max_tokens_ || gone_.empty()) return;
    std::pop_heap(gone_.begin(), gone_.end(), std::greater<path_mark>());
    t.left = gone_.back();
    gone_.pop_back();
  }

  context_node& group_;
  const stage_list& stages_;
  const std::unique_ptr<serial_gate[]> gates_;
  const std::size_t max_tokens_;
  std::size_t buffer_size_ = 1;
  std::size_t alignment_ = 1;
  wait_count pending_;

  mutex mutex_;  // protects all members below
  bool stopped_ = false;
  bool reader_ = false;     // there is a reader
  std::uint64_t read_ = 0;  // number of items read
  path_mark last_read_;
  std::vector<path_mark> gone_;  // a heap, the first on top: where items have left
  std::size_t allowed_ = 1;      // the number of items that have been allowed to be live
  token* free_ = nullptr;
  token* made_ = nullptr;  // all tokens
  std::size_t tokens_made_ = 0;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_PIPELINE_HPP
