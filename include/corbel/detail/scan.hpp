// SPDX-License-Identifier: Apache-2.0
// A parallel prefix scan that scans ahead only where threads help. Not for programs to include.
//
// The range is cut into pieces from left to right. The boundary between what has its final sums and
// what has not is the front. The body that has seen everything before it is the front body, and one
// thread at a time does the final scan of the piece at the front with it. A thread that helps takes
// the next piece and scans it ahead with a body of its own, so the sum of that piece is known
// before the front reaches it. When it does, that body is joined to the front body and becomes the
// front body; the front moves past the piece; and the former front body can do the final scan of
// the piece, in any thread. The last piece is never scanned ahead. Without helpers there is one
// final scan of everything. If both kinds of scan take equally long, two threads finish three
// pieces in the time of two scans.
//
// One helper at a time is invited, when there is work that it could do at once; it invites the next
// one. So the number of helpers grows as long as there is work: a thread that scans ahead invites
// as soon as its body exists, since the next body is split off that one, and a thread that moves
// the front invites for the final scans that this makes possible.
//
// The two-pass scheme is that of G. Blelloch, "Prefix Sums and Their Applications" (1990). The
// first pass goes in order, so that a piece that a thread scans at the front is scanned only once;
// that is taken from the serial filters of pipelines.
//
// Every body is split off the body of the piece before its own, is joined to that same body, and is
// split from at most once: perhaps while its operator() runs, but never while it is joined.
#ifndef CORBEL_DETAIL_SCAN_HPP
#define CORBEL_DETAIL_SCAN_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/manual_lifetime.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/mutex.hpp>
#include <corbel/split.hpp>

namespace corbel {

// Passed to a body for a pre-scan: it only adds the range to its sum.
// [algorithms.parallel_scan.pre_scan_tag]
struct pre_scan_tag {
  static constexpr bool is_final_scan() { return false; }
  constexpr operator bool() const { return false; }
};

// Passed to a body for a final scan: its sum is that of everything before the range, so results can
// be written. [algorithms.parallel_scan.final_scan_tag]
struct final_scan_tag {
  static constexpr bool is_final_scan() { return true; }
  constexpr operator bool() const { return true; }
};

namespace detail {

// One call of parallel_scan. The mutex is released during calls of the program's functions, except
// those of the range.
template <typename Range, typename Body>
class scan_call {
 public:
  // Pieces are split at most `depth` times, more often if many threads help.
  scan_call(context_node& group, const Range& range, Body& body, int depth)
      : group_(group), depth_(depth), body_(body), front_(&body), newest_(&body) {
    invitation_.owner = this;
    invitation_.run = &help;
    invitation_.context = &group;
    rest_.push_back(part{range, 0});
  }

  ~scan_call() {
    while (block* const b = blocks_) {
      blocks_ = b->later;
      destroy(b);
    }
  }
  scan_call(const scan_call&) = delete;
  scan_call& operator=(const scan_call&) = delete;

  void run(thread_data& thread) {
    const call_trace trace(thread);
    call_captured(group_, [&] { work(thread); });
    pending_.wait(thread);
    if (thread.is_cancelled(group_)) return;
    if (front_ != &body_) call_captured(group_, [&] { body_.assign(*front_); });
  }

 private:
  struct part {
    Range range;
    int depth;  // how often it was split
  };

  // Drops the rest of the range when copying a piece throws: without that piece the rest has no
  // body to its left.
  struct rest_guard {
    std::vector<part>* rest;
    ~rest_guard() {
      if (rest != nullptr) rest->clear();
    }
  };

  // A piece that is scanned ahead.
  struct block {
    manual_lifetime<Range> range;
    manual_lifetime<Body> body;
    bool has_range = false;
    bool has_body = false;       // and can be split from and joined
    bool is_scanned = false;     // the scan ahead is done
    path_mark scanned;           // then, and later when its final scan may begin
    int uses = 2;                // its own final scan needs the range, the next block's the body
    Body* before = nullptr;      // does the final scan
    block* before_of = nullptr;  // the block of `before`; nullptr: it is the program's own body
    block* next = nullptr;       // in a queue
    block* earlier = nullptr;    // in the list of all blocks
    block* later = nullptr;
  };

  struct queue {
    block* first = nullptr;
    block* last = nullptr;

    void push(block* b) {
      b->next = nullptr;
      (last != nullptr ? last->next : first) = b;
      last = b;
    }
    block* pop() {
      block* const b = first;
      first = b->next;
      if (first == nullptr) last = nullptr;
      return b;
    }
  };

  enum class step { advance, scan_at_front, scan_again, scan_ahead, none };

  struct invitation : task_base {
    scan_call* owner;
  };

  // ---- helpers

  static task_base* help(task_base* self, thread_data& thread, bool cancelled) {
    // Once accept() has run, the task may be spawned again.
    scan_call& call = *static_cast<invitation*>(self)->owner;
    if (!cancelled) {
      call_captured(call.group_, [&] {
        call.accept();
        call.work(thread);
      });
    }
    call.pending_.release(thread);
    return nullptr;
  }

  void accept() {
    mutex::scoped_lock lock(mutex_);
    is_invited_ = false;
    // Twice as many helpers get twice as many pieces.
    ++helpers_;
    if ((helpers_ & (helpers_ - 1)) == 0 && depth_ < 10) ++depth_;
  }

  // Unlocks, and spawns the invitation for another thread if there is work left for it. Called
  // after each change that makes work possible, unless the thread continues with work(): a helper
  // that finds nothing leaves, and only another invitation brings it back.
  void unlock_and_invite(thread_data& thread, mutex::scoped_lock* lock) {
    const bool invite = !is_invited_ && next_step() != step::none;
    if (invite) is_invited_ = true;
    lock->release();
    if (invite) spawn_counted(thread, pending_, invitation_);
  }

  // Does work of each kind until there is none that this thread could do.
  void work(thread_data& thread) {
    const chunk_trace steps(thread);
    while (!is_cancelled_between_chunks(thread, group_)) {
      mutex::scoped_lock lock(mutex_);
      switch (next_step()) {
        case step::advance:
          advance(thread, &lock);
          break;
        case step::scan_at_front:
          scan_at_front(thread, &lock);
          break;
        case step::scan_again:
          scan_again(thread, &lock);
          break;
        case step::scan_ahead:
          scan_ahead(thread, &lock);
          break;
        case step::none:
          return;
      }
    }
  }

  // The most urgent work that a thread could do now. A scan ahead of the last piece would not let
  // anything begin earlier: no piece waits for its sum.
  step next_step() const {
    if (!front_is_taken_) {
      if (ahead_.first == nullptr) {
        if (!rest_.empty()) return step::scan_at_front;
      } else if (can_advance(*ahead_.first)) {
        return step::advance;
      }
    }
    if (final_.first != nullptr) return step::scan_again;
    if (newest_is_ready_ && !rest_.empty() && !rest_is_last_piece()) return step::scan_ahead;
    return step::none;
  }

  // False while the next body is being split off this one: it must not be joined meanwhile.
  static bool can_advance(const block& b) {
    return b.is_scanned && (b.next == nullptr || b.next->has_body);
  }

  bool rest_is_last_piece() const { return rest_.size() == 1 && !is_cut(rest_.back()); }

  // ---- the kinds of work

  void advance(thread_data& thread, mutex::scoped_lock* lock) {
    block& b = *ahead_.pop();
    front_is_taken_ = true;
    const bool is_newest = &b.body.get() == newest_;
    if (is_newest) newest_is_ready_ = false;
    unlock_and_invite(thread, lock);
    b.scanned.join(thread);
    at_front_.join(thread);
    b.body.get().reverse_join(*front_);
    at_front_.set(thread);
    b.scanned.set(thread);
    lock->acquire(mutex_);
    if (is_newest) newest_is_ready_ = true;
    front_is_taken_ = false;
    b.before = front_;
    b.before_of = front_of_;
    front_ = &b.body.get();
    front_of_ = &b;
    final_.push(&b);
  }

  void scan_at_front(thread_data& thread, mutex::scoped_lock* lock) {
    front_is_taken_ = true;
    const Range range = take_piece();
    unlock_and_invite(thread, lock);
    at_front_.join(thread);
    (*front_)(range, final_scan_tag());
    at_front_.set(thread);
    lock->acquire(mutex_);
    front_is_taken_ = false;
  }

  void scan_again(thread_data& thread, mutex::scoped_lock* lock) {
    block* const b = final_.pop();
    unlock_and_invite(thread, lock);
    b->scanned.join(thread);
    (*b->before)(b->range.get(), final_scan_tag());
    if (b->before_of != nullptr) release(b->before_of);
    release(b);
  }

  void scan_ahead(thread_data& thread, mutex::scoped_lock* lock) {
    block& b = make_block(thread);
    rest_guard guard{&rest_};
    b.range.make(take_piece());
    guard.rest = nullptr;
    b.has_range = true;
    Body& neighbour = *newest_;
    newest_ = &b.body.get();
    newest_is_ready_ = false;
    ahead_.push(&b);
    lock->release();
    b.body.make(neighbour, split());
    lock->acquire(mutex_);
    b.has_body = true;
    newest_is_ready_ = true;
    unlock_and_invite(thread, lock);
    b.body.get()(b.range.get(), pre_scan_tag());
    b.scanned.set(thread);
    lock->acquire(mutex_);
    b.is_scanned = true;
  }

  bool is_cut(const part& p) const { return p.depth < depth_ && p.range.is_divisible(); }

  // Takes the leftmost piece of the rest.
  Range take_piece() {
    part piece = rest_.back();
    rest_.pop_back();
    while (is_cut(piece)) {
      ++piece.depth;
      Range right(piece.range, split());
      rest_.push_back(part{right, piece.depth});
    }
    return piece.range;
  }

  // ---- blocks

  block& make_block(thread_data& thread) {
    block* const b = ::new (allocate_task(thread, sizeof(block))) block;
    b->later = blocks_;
    if (blocks_ != nullptr) blocks_->earlier = b;
    blocks_ = b;
    return *b;
  }

  void release(block* b) {
    {
      mutex::scoped_lock lock(mutex_);
      if (--b->uses != 0) return;
      (b->earlier != nullptr ? b->earlier->later : blocks_) = b->later;
      if (b->later != nullptr) b->later->earlier = b->earlier;
    }
    destroy(b);
  }

  void destroy(block* b) {
    if (b->has_body) b->body.destroy();
    if (b->has_range) b->range.destroy();
    b->~block();
    deallocate_task(current_thread(), b, sizeof(block));
  }

  context_node& group_;
  wait_count pending_;
  invitation invitation_;

  mutex mutex_;  // protects everything below
  int depth_;
  std::uint32_t helpers_ = 0;
  bool is_invited_ = false;
  std::vector<part> rest_;  // pieces that no thread has taken, the leftmost last
  queue ahead_;             // pieces that are or were scanned ahead, from the front to the rest
  queue final_;             // pieces that can have their final scan
  block* blocks_ = nullptr;

  Body& body_;
  Body* front_;                // the front body
  block* front_of_ = nullptr;  // the block it belongs to; nullptr: it is body_
  bool front_is_taken_ = false;
  path_mark at_front_;           // the thread that has taken the front uses it
  Body* newest_;                 // the body of the rightmost piece that a thread has taken
  bool newest_is_ready_ = true;  // can be split from: neither being made nor joined
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SCAN_HPP
