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
// cancelled, tokens stay where they are, and are destroyed with the call of the pipeline. Items
// that are in tokens then are dropped.
//
// A filter may be bound to a thread of the program. A token that has entered it is put into the
// filter's slot. The thread takes it, calls the filter, and gives it back to the thread that runs
// the pipeline, which spawns it. Meanwhile the token counts as a task: the pipeline does not end.
#ifndef CORBEL_DETAIL_PIPELINE_HPP
#define CORBEL_DETAIL_PIPELINE_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/outside_slot.hpp>
#include <corbel/detail/pipeline_stage.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/detail/wait_count.hpp>

namespace corbel {
namespace detail {

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
    for (const pipeline_stage* const s : stages) {
      if (s->outside == nullptr) continue;
      s->outside->open();
      has_outside_ = true;
    }
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
      if (t->is_back && t->passed) advance(*t);
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
    if (has_outside_) {
      wait_with_slots(thread);
    } else {
      pending_.wait(thread);
    }
  }

  // Called by a thread that has taken the token from a slot: calls the filter and gives the token
  // back, after which the pipeline may be gone. What the filter throws cancels the pipeline.
  // Returns false if the filter has ended the stream, or the pipeline is cancelled.
  bool run_outside(token& t) {
    t.passed = false;
    if (!find_cancelled(group_)) {
      call_captured(group_, [&] {
        t.has_item = false;
        t.passed = stages_[t.stage]->run(t.buffer[0], t.buffer[1]);
      });
    }
    t.is_back = true;
    const bool passed = t.passed;
    const void* const key = static_cast<wait_count*>(&pending_);
    token* first = pending_.back.load(std::memory_order_relaxed);  // relaxed: (1) decides
    do {
      t.next = first;
      // (1) release: publishes the token to (2). relaxed on failure: tries again.
    } while (!pending_.back.compare_exchange_weak(first, &t, std::memory_order_release,
                                                  std::memory_order_relaxed));
    notify(key);
    return passed;
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
    t->is_back = false;
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
    // The thread that runs the pipeline empties the slots when it is cancelled.
    if (CORBEL_UNLIKELY(call.has_outside_) && thread.is_cancelled(call.group_)) {
      notify(static_cast<wait_count*>(&call.pending_));
    }
    call.pending_.release(thread);
    return nullptr;
  }

  // Moves the token on until it is parked, free or in a slot, or the group is cancelled.
  void carry(thread_data& thread, token& t) {
    t.left.join(thread);
    if (CORBEL_UNLIKELY(t.is_back)) {
      t.is_back = false;
      const std::size_t stage = t.stage;
      if (t.passed) advance(t);
      if (thread.is_cancelled(group_) || !leave(thread, t, stage, t.passed)) return;
    }
    while (!thread.is_cancelled(group_)) {
      const std::size_t stage = t.stage;
      if (!enter(thread, t)) return;
      if (CORBEL_UNLIKELY(stages_[stage]->outside != nullptr)) return hand_out(thread, t);
      if (!leave(thread, t, stage, pass(t))) return;
    }
  }

  // Returns false if the token is parked, or the pipeline was stopped.
  bool enter(thread_data& thread, token& t) {
    const bool is_serial = stages_[t.stage]->is_serial;
    // One token at a time is the reader. If the first filter is parallel, the token passes the role
    // on before it calls the filter, else afterwards.
    if (t.stage == 0) return is_serial || pass_on_reading(thread, t);
    if (!is_serial) return true;
    serial_gate& gate = gates_[t.stage];
    if (!t.may_enter) {
      t.left.set(thread);
      if (!gate.enter(t)) return false;
    }
    t.may_enter = false;
    gate.last_left.join(thread);
    return true;
  }

  // Called when the filter `stage` has been called. `passed`: it has not stopped the pipeline.
  // Returns false if the token goes no further.
  bool leave(thread_data& thread, token& t, std::size_t stage, bool passed) {
    const bool is_serial = stages_[stage]->is_serial;
    if (stage == 0) {
      if (!passed) {
        const pipeline_lock lock(mutex_);
        stopped_ = true;
        return false;
      }
      if (is_serial && !pass_on_reading(thread, t)) return false;
    } else if (is_serial) {
      serial_gate& gate = gates_[stage];
      gate.last_left.set(thread);
      if (token* const next = gate.leave()) {
        next->may_enter = true;
        spawn_counted(thread, pending_, *next);
      }
    }
    return t.stage < stages_.size() || becomes_reader(thread, t);
  }

  // Runs the token's filter. Returns false if that stopped the pipeline.
  bool pass(token& t) {
    t.has_item = false;
    if (!stages_[t.stage]->run(t.buffer[0], t.buffer[1])) return false;
    advance(t);
    return true;
  }

  // Moves the token, with the result of its filter, to the next one.
  void advance(token& t) {
    std::swap(t.buffer[0], t.buffer[1]);
    ++t.stage;
    t.has_item = t.stage < stages_.size();
  }

  // ---- filters that threads of the program call

  struct counted_tokens : wait_count {
    std::atomic<token*> back{nullptr};  // given back by those threads
    context_node* slots_of = nullptr;   // the group, while there are open slots

    static bool has_news(const void* key) {
      const counted_tokens* const self =
          static_cast<const counted_tokens*>(static_cast<const wait_count*>(key));
      // relaxed: (2) takes the tokens
      return self->back.load(std::memory_order_relaxed) != nullptr || self->is_done() ||
             (self->slots_of != nullptr && find_cancelled(*self->slots_of));
    }
  };

  // Puts the token into its filter's slot. It counts as a task from here on.
  void hand_out(thread_data& thread, token& t) {
    t.left.set(thread);
    pending_.reserve();
    if (!stages_[t.stage]->outside->offer(*this, t)) pending_.release(thread);
  }

  // Waits for all tasks, and spawns the tokens that are given back.
  void wait_with_slots(thread_data& thread) {
    pending_.slots_of = &group_;
    for (;;) {
      if (pending_.slots_of != nullptr && thread.is_cancelled(group_)) {
        pending_.slots_of = nullptr;
        for (std::size_t left = close_slots(); left != 0; --left) pending_.release(thread);
      }
      wait_until(thread, static_cast<wait_count*>(&pending_), &counted_tokens::has_news);
      // (2) acquire: sees the tokens pushed by (1)
      token* t = pending_.back.exchange(nullptr, std::memory_order_acquire);
      if (t == nullptr && pending_.is_done()) return;
      while (t != nullptr) {
        token* const next = t->next;
        bool is_spawned = false;
        call_captured(group_, [&] {
          spawn(thread, *t);
          is_spawned = true;
        });
        if (!is_spawned) pending_.release(thread);
        t = next;
      }
    }
  }

  // Returns the number of tokens that were in the slots.
  std::size_t close_slots() {
    std::size_t left = 0;
    for (const pipeline_stage* const s : stages_) {
      if (s->outside != nullptr && s->outside->close() != nullptr) ++left;
    }
    return left;
  }

  // ---- reading

  // Numbers the token's item and makes another token the reader, if one is free or may be made.
  // Returns false if the pipeline was stopped.
  bool pass_on_reading(thread_data& thread, token& t) {
    token* next = nullptr;
    {
      const pipeline_lock lock(mutex_);
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
    const pipeline_lock lock(mutex_);
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
  counted_tokens pending_;
  bool has_outside_ = false;

  spinning_mutex mutex_;  // protects all members below
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
