// SPDX-License-Identifier: Apache-2.0
// How items pass through the filters of a pipeline. Not for programs to include.
//
// An item travels in a token, of which there are as many as may be live at once. A thread takes a
// token from filter to filter as long as it can. At a serial filter at which it is not its turn the
// token is parked, and the thread looks for something else; who leaves the filter spawns the token
// whose turn it is, and goes on with its own. So no thread ever waits for another.
//
// Why nothing stays parked: a token is parked because the filter is busy, or because one that comes
// before it has not come. Whoever makes it busy is in a task, or a token before that, and so on
// down to the token that has waited longest at the last of these filters, whose predecessor is in a
// task. Each task ends by parking its token, by spawning the next or by reading the next item,
// until there are no more; unless the group is cancelled: then tokens stay where they are, and are
// destroyed with the pipeline's call.
#ifndef CORBEL_DETAIL_PIPELINE_HPP
#define CORBEL_DETAIL_PIPELINE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/mutex.hpp>

namespace corbel {
namespace detail {

// One filter, as the pipeline sees it.
class pipeline_stage {
 public:
  // Of what it takes in; 0 for the first.
  const std::size_t size, alignment;
  const bool is_serial, is_in_order;

  pipeline_stage(std::size_t s, std::size_t a, bool serial, bool in_order)
      : size(s), alignment(a), is_serial(serial), is_in_order(in_order) {}
  virtual ~pipeline_stage() = default;
  pipeline_stage(const pipeline_stage&) = delete;
  pipeline_stage& operator=(const pipeline_stage&) = delete;

  // Passes what is at `in` to the program's function, which leaves something at `out`, and destroys
  // it, even if the function throws. False if the function, being the first, has stopped the
  // pipeline: nothing is at `out` then.
  virtual bool run(void* in, void* out) const = 0;
  // Destroys what is at `in`.
  virtual void drop(void* in) const noexcept = 0;
};

using stage_list = std::vector<const pipeline_stage*>;

class pipeline_call;

struct token : task_base {
  pipeline_call* owner;
  token* next;             // parked, or free
  token* next_made;        // of all
  std::uint64_t place;     // in the order of the items
  std::size_t stage;       // where it is, or goes next
  bool may_enter;          // that stage is kept busy for it
  bool has_item;           // for that stage
  unsigned char* room[2];  // the item is in the first one; what is made of it goes into the other
};

// The way into a serial filter. Items that come too early are parked.
class serial_gate {
 public:
  // Who comes first is first, and if the gate is to number them that is their order from now on.
  void let_in_as_they_come(bool number) {
    in_order_ = false;
    numbers_ = number;
  }

  // False: the token is parked, or somebody else has it by now.
  bool enter(token& t) {
    mutex::scoped_lock lock(mutex_);
    if (!busy_ && (!in_order_ || t.place == next_)) {
      if (numbers_) t.place = next_++;
      busy_ = true;
      return true;
    }
    park(t);
    return false;
  }

  // The token that may enter now; nullptr if there is none.
  token* leave() {
    mutex::scoped_lock lock(mutex_);
    token* const t = in_order_ ? parked_at(++next_) : first_parked();
    if (t == nullptr) {
      busy_ = false;
    } else if (numbers_) {
      t->place = next_++;
    }
    return t;
  }

 private:
  void park(token& t) {
    if (in_order_) {
      while (t.place - next_ >= early_.size()) lengthen();
      early_[t.place % early_.size()] = &t;
      return;
    }
    t.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &t;
    last_ = &t;
  }

  token* first_parked() {
    token* const t = first_;
    if (t == nullptr) return nullptr;
    first_ = t->next;
    if (first_ == nullptr) last_ = nullptr;
    return t;
  }

  token* parked_at(std::uint64_t place) {
    if (early_.empty()) return nullptr;
    token*& t = early_[place % early_.size()];
    token* const found = t;
    t = nullptr;
    return found;
  }

  void lengthen() {
    std::vector<token*> longer(early_.empty() ? 16 : 2 * early_.size());
    for (token* const t : early_) {
      if (t != nullptr) longer[t->place % longer.size()] = t;
    }
    early_.swap(longer);
  }

  mutex mutex_;
  bool busy_ = false;
  bool in_order_ = true;
  bool numbers_ = false;
  std::uint64_t next_ = 0;     // in order: whose turn it is, or who is in; else the next number
  std::vector<token*> early_;  // in order: a ring, indexed by place
  token* first_ = nullptr;     // as they come: a queue
  token* last_ = nullptr;
};

// One call of parallel_pipeline.
class pipeline_call {
 public:
  pipeline_call(context_node& group, const stage_list& stages, std::size_t most_tokens)
      : group_(group),
        stages_(stages),
        gates_(new serial_gate[stages.size()]),
        most_tokens_(most_tokens == 0 ? 1 : most_tokens) {
    for (const pipeline_stage* const s : stages) {
      if (s->size > room_) room_ = s->size;
      if (s->alignment > alignment_) alignment_ = s->alignment;
    }
    room_ = (room_ + alignment_ - 1) / alignment_ * alignment_;
    bool numbered = stages[0]->is_serial;
    for (std::size_t i = 1; i < stages.size(); ++i) {
      const bool numbers = stages[i]->is_in_order && !numbered;
      if (!stages[i]->is_in_order || numbers) gates_[i].let_in_as_they_come(numbers);
      numbered = numbered || numbers;
    }
  }

  ~pipeline_call() {
    while (token* const t = made_) {
      made_ = t->next_made;
      if (t->has_item) stages_[t->stage]->drop(t->room[0]);
      t->~token();
      deallocate_block(t, token_bytes());
    }
  }
  pipeline_call(const pipeline_call&) = delete;
  pipeline_call& operator=(const pipeline_call&) = delete;

  void run(worker& w) {
    call_captured(group_, [&] {
      reader_ = true;
      carry(w, make_token());
    });
    pending_.wait(w);
  }

 private:
  // ---- tokens

  std::size_t token_bytes() const { return sizeof(token) + alignment_ + 2 * room_; }

  // Under the lock, but for the first one.
  token& make_token() {
    void* const block = allocate_block(token_bytes());
    token* const t = ::new (block) token;
    t->run = &run_token;
    t->context = &group_;
    t->owner = this;
    t->stage = 0;
    t->may_enter = false;
    t->has_item = false;
    const std::size_t behind = reinterpret_cast<std::size_t>(t + 1);
    t->room[0] = reinterpret_cast<unsigned char*>(t + 1) + (alignment_ - behind % alignment_);
    t->room[1] = t->room[0] + room_;
    t->next_made = made_;
    made_ = t;
    ++tokens_made_;
    return *t;
  }

  static task_base* run_token(task_base* self, worker& w, bool cancelled) {
    token& t = *static_cast<token*>(self);
    pipeline_call& call = *t.owner;
    if (!cancelled) call_captured(call.group_, [&] { call.carry(w, t); });
    call.pending_.release(w);
    return nullptr;
  }

  // Takes the token as far as it can.
  void carry(worker& w, token& t) {
    while (!w.is_cancelled(group_)) {
      if (t.stage == 0) {
        if (!read(w, t)) return;
      } else {
        serial_gate& gate = gates_[t.stage];
        const bool is_serial = stages_[t.stage]->is_serial;
        if (is_serial && !t.may_enter && !gate.enter(t)) return;
        t.may_enter = false;
        pass(t);
        if (is_serial) {
          if (token* const next = gate.leave()) {
            next->may_enter = true;
            spawn_counted(w, pending_, *next);
          }
        }
      }
      if (t.stage == stages_.size() && !becomes_reader(t)) return;
    }
  }

  // Through the filter before which it is. False if the pipeline was stopped.
  bool pass(token& t) {
    t.has_item = false;
    if (!stages_[t.stage]->run(t.room[0], t.room[1])) return false;
    std::swap(t.room[0], t.room[1]);
    ++t.stage;
    t.has_item = t.stage < stages_.size();
    return true;
  }

  // ---- reading

  // One token reads at a time, or, where the first filter is parallel, is about to.
  bool read(worker& w, token& t) {
    const bool is_serial = stages_[0]->is_serial;
    if (!is_serial && !pass_on_reading(w, t)) return false;
    if (!pass(t)) {
      mutex::scoped_lock lock(mutex_);
      stopped_ = true;
      return false;
    }
    return !is_serial || pass_on_reading(w, t);
  }

  // Lets another token read. False if the pipeline was stopped.
  bool pass_on_reading(worker& w, token& t) {
    token* next = nullptr;
    {
      mutex::scoped_lock lock(mutex_);
      if (stopped_) return false;
      t.place = read_++;
      reader_ = false;
      next = free_;
      if (next != nullptr) {
        free_ = next->next;
      } else if (tokens_made_ < most_tokens_) {
        next = &make_token();
      }
      reader_ = next != nullptr;
    }
    if (next != nullptr) spawn_counted(w, pending_, *next);
    return true;
  }

  // The token's item has left the pipeline.
  bool becomes_reader(token& t) {
    t.stage = 0;
    mutex::scoped_lock lock(mutex_);
    if (!stopped_ && !reader_) {
      reader_ = true;
      return true;
    }
    t.next = free_;
    free_ = &t;
    return false;
  }

  context_node& group_;
  const stage_list& stages_;
  const std::unique_ptr<serial_gate[]> gates_;
  const std::size_t most_tokens_;
  std::size_t room_ = 1;
  std::size_t alignment_ = 1;
  wait_count pending_;

  mutex mutex_;  // for all below
  bool stopped_ = false;
  bool reader_ = false;  // there is one
  std::uint64_t read_ = 0;
  token* free_ = nullptr;
  token* made_ = nullptr;
  std::size_t tokens_made_ = 0;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_PIPELINE_HPP
