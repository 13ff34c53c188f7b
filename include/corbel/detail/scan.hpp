// SPDX-License-Identifier: Apache-2.0
// A prefix scan that scans ahead only where somebody helps. Not for programs to include.
//
// The range is handed out from left to right, in pieces. One thread, the one that has the front,
// does the final scan of the piece that lies there, with the body that has seen all before: the
// front's body. A thread that comes meanwhile takes the next piece and scans it ahead, with a body
// of its own; so that piece has its sum before its turn comes. When it comes, that body is joined
// behind the front's body and becomes the front's, the front goes on behind the piece, and the body
// that was the front's can do the final scan of the piece, in whatever thread. With nobody helping
// there is one final scan of everything; two threads that take equally long for either kind of scan
// handle three pieces in the time of two.
//
// (The scheme of two passes is that of G. Blelloch, "Prefix Sums and Their Applications" (1990);
// that the first one goes in order, so that nobody passes twice over what it does first, is what a
// pipeline's serial filter does.)
//
// Every body is split off the one for the piece before its own, is joined behind that same one, and
// is split from at most once: while its operator() runs, perhaps, but not while it is joined.
#ifndef CORBEL_DETAIL_SCAN_HPP
#define CORBEL_DETAIL_SCAN_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include <corbel/detail/group_call.hpp>
#include <corbel/detail/late.hpp>
#include <corbel/detail/wait_count.hpp>
#include <corbel/mutex.hpp>
#include <corbel/split.hpp>

namespace corbel {

// Says that the sum is wanted, but not that of what lies before.
struct pre_scan_tag {
  static constexpr bool is_final_scan() { return false; }
  constexpr operator bool() const { return false; }
};

// Says that the sum of all before is known, and that results can be written.
struct final_scan_tag {
  static constexpr bool is_final_scan() { return true; }
  constexpr operator bool() const { return true; }
};

namespace detail {

// One call of parallel_scan. All of the program's functions but the range's are called without the
// lock.
template <typename Range, typename Body>
class scan_call {
 public:
  // Pieces are split no more than `depth` times, more often if many help.
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

  void run(worker& w) {
    call_captured(group_, [&] { work(w); });
    pending_.wait(w);
    if (w.is_cancelled(group_)) return;
    if (front_ != &body_) call_captured(group_, [&] { body_.assign(*front_); });
  }

 private:
  struct part {
    Range range;
    int depth;  // so often it was split
  };

  // What lies behind a piece that is lost, because its range throws, has no neighbour.
  struct rest_of_lost {
    std::vector<part>* rest;
    ~rest_of_lost() {
      if (rest != nullptr) rest->clear();
    }
  };

  // A piece that is not scanned in its turn.
  struct block {
    late<Range> range;
    late<Body> body;
    bool has_range = false;
    bool has_body = false;       // and can be split from and joined
    bool is_scanned = false;     // ahead
    int uses = 2;                // the range until its final scan, the body until that of the next
    Body* before = nullptr;      // for the final scan
    block* before_of = nullptr;  // the block that body belongs to; nullptr: the program's own
    block* next = nullptr;       // in a queue
    block* earlier = nullptr;    // in the list of all
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

  struct invitation : task_base {
    scan_call* owner;
  };

  // ---- who helps

  static task_base* help(task_base* self, worker& w, bool cancelled) {
    // The task may be spawned again from here on.
    scan_call& call = *static_cast<invitation*>(self)->owner;
    if (!cancelled) {
      call_captured(call.group_, [&] {
        call.accept();
        call.work(w);
      });
    }
    call.pending_.release(w);
    return nullptr;
  }

  void accept() {
    mutex::scoped_lock lock(mutex_);
    is_invited_ = false;
    // Twice as many pieces for twice as many threads.
    ++helpers_;
    if ((helpers_ & (helpers_ - 1)) == 0 && depth_ < 10) ++depth_;
  }

  // Unlocks, and lets another thread come if there is something left for it.
  void unlock_and_invite(worker& w, mutex::scoped_lock* lock) {
    const bool invite = !is_invited_ && (!rest_.empty() || final_.first != nullptr);
    if (invite) is_invited_ = true;
    lock->release();
    if (invite) spawn_counted(w, pending_, invitation_);
  }

  // Whatever there is to do, as long as there is something.
  void work(worker& w) {
    while (!w.is_cancelled(group_)) {
      mutex::scoped_lock lock(mutex_);
      if (!front_is_taken_ && ahead_.first != nullptr && can_advance(*ahead_.first)) {
        advance(&lock);
      } else if (!front_is_taken_ && ahead_.first == nullptr && !rest_.empty()) {
        scan_at_front(w, &lock);
      } else if (final_.first != nullptr) {
        scan_again(w, &lock);
      } else if (!rest_.empty() && newest_is_ready_) {
        scan_ahead(w, &lock);
      } else {
        return;
      }
    }
  }

  // ---- what there is to do

  // Not while the next body is split off this one's.
  static bool can_advance(const block& b) {
    return b.is_scanned && (b.next == nullptr || b.next->has_body);
  }

  void advance(mutex::scoped_lock* lock) {
    block& b = *ahead_.pop();
    front_is_taken_ = true;
    const bool is_newest = &b.body.get() == newest_;
    if (is_newest) newest_is_ready_ = false;
    lock->release();
    b.body.get().reverse_join(*front_);
    lock->acquire(mutex_);
    if (is_newest) newest_is_ready_ = true;
    front_is_taken_ = false;
    b.before = front_;
    b.before_of = front_of_;
    front_ = &b.body.get();
    front_of_ = &b;
    final_.push(&b);
  }

  void scan_at_front(worker& w, mutex::scoped_lock* lock) {
    front_is_taken_ = true;
    const Range range = take_piece();
    unlock_and_invite(w, lock);
    (*front_)(range, final_scan_tag());
    lock->acquire(mutex_);
    front_is_taken_ = false;
  }

  void scan_again(worker& w, mutex::scoped_lock* lock) {
    block* const b = final_.pop();
    unlock_and_invite(w, lock);
    (*b->before)(b->range.get(), final_scan_tag());
    if (b->before_of != nullptr) release(b->before_of);
    release(b);
  }

  void scan_ahead(worker& w, mutex::scoped_lock* lock) {
    block& b = make_block(w);
    rest_of_lost lost{&rest_};
    b.range.make(take_piece());
    lost.rest = nullptr;
    b.has_range = true;
    Body& neighbour = *newest_;
    newest_ = &b.body.get();
    newest_is_ready_ = false;
    ahead_.push(&b);
    unlock_and_invite(w, lock);
    b.body.make(neighbour, split());
    lock->acquire(mutex_);
    b.has_body = true;
    newest_is_ready_ = true;
    lock->release();
    b.body.get()(b.range.get(), pre_scan_tag());
    lock->acquire(mutex_);
    b.is_scanned = true;
  }

  // The leftmost piece of the rest.
  Range take_piece() {
    part piece = rest_.back();
    rest_.pop_back();
    while (piece.depth < depth_ && piece.range.is_divisible()) {
      ++piece.depth;
      Range right(piece.range, split());
      rest_.push_back(part{right, piece.depth});
    }
    return piece.range;
  }

  // ---- blocks

  block& make_block(worker& w) {
    block* const b = ::new (allocate_task(w, sizeof(block))) block;
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
    deallocate_task(current_worker(), b, sizeof(block));
  }

  context_node& group_;
  wait_count pending_;
  invitation invitation_;

  mutex mutex_;  // for all below
  int depth_;
  std::uint32_t helpers_ = 0;
  bool is_invited_ = false;
  std::vector<part> rest_;  // what nobody has taken, the leftmost last
  queue ahead_;             // pieces that are or were scanned ahead, from the front to the rest
  queue final_;             // pieces that can have their final scan
  block* blocks_ = nullptr;

  Body& body_;
  Body* front_;                // has seen all before the front
  block* front_of_ = nullptr;  // the block it belongs to
  bool front_is_taken_ = false;
  Body* newest_;                 // for the rightmost piece that somebody has taken
  bool newest_is_ready_ = true;  // to be split from: neither being made nor joined
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_SCAN_HPP
