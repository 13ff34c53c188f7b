// SPDX-License-Identifier: Apache-2.0
// Loops over any range that can be split: ranges of the program, and every range whose parts belong
// to certain threads. Also chooses the Loop for a range and a partitioner. Not for programs to
// include.
#ifndef CORBEL_DETAIL_RANGE_LOOP_HPP
#define CORBEL_DETAIL_RANGE_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/chunk_loop.hpp>
#include <corbel/detail/loop.hpp>
#include <corbel/partitioner.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// Whether a range can be split by proportion. Ranges written for classic TBB may say that they
// cannot.
template <typename Range, typename = void>
struct denies_proportion : std::false_type {};
template <typename Range>
struct denies_proportion<Range, typename std::enable_if<!Range::is_splittable_in_proportion>::type>
    : std::true_type {};
template <typename Range>
using is_proportional =
    std::integral_constant<bool, std::is_constructible<Range, Range&, proportional_split&>::value &&
                                     !denies_proportion<Range>::value>;

// A range and which part of the whole loop it is, measured in cells. The partitioner says what a
// cell is.
template <typename Range>
struct range_piece {
  Range range;
  std::size_t begin;
  std::size_t cells;

  range_piece(const Range& r, std::size_t first, std::size_t count)
      : range(r), begin(first), cells(count) {}

  // The right half of `whole`, which becomes the left half.
  range_piece(range_piece& whole, split how)
      : range(whole.range, how),
        begin(whole.begin + (whole.cells - whole.cells / 2)),
        cells(whole.cells / 2) {
    whole.cells -= cells;
  }

  // The right how.right() cells of `whole`. The range is split by the same proportion if it can be,
  // else it is halved.
  range_piece(range_piece& whole, proportional_split& how)
      : range_piece(whole, how, is_proportional<Range>()) {}

 private:
  range_piece(range_piece& whole, proportional_split& how, std::true_type)
      : range(whole.range, how), begin(whole.begin + how.left()), cells(how.right()) {
    whole.cells = how.left();
  }
  range_piece(range_piece& whole, const proportional_split& how, std::false_type)
      : range(whole.range, split()), begin(whole.begin + how.left()), cells(how.right()) {
    whole.cells = how.left();
  }
};

// The pieces that a runner has cut off and not begun. The runner takes the nearest, thieves take
// the farthest, which is usually the largest. A ring has pointers to them, so that no piece moves
// in memory while its runner has it. Their numbers are those of a remainder, the nearest first; a
// number modulo the capacity is the place in the ring. A thief that finds no piece drops the
// ticket; if the runner then cuts its current piece, it offers again.
template <typename Piece>
class waiting_pieces {
 public:
  waiting_pieces(const Piece&, bool slow) : rest_(kBegin, kBegin, slow) {}
  // No thief can come any more.
  ~waiting_pieces() {
    destroy_all();
    if (ring_ != first_ring_) deallocate_block(ring_, (mask_ + 1) * sizeof(node*));
    while (batch* const b = batches_) {
      batches_ = b->next;
      deallocate_block(b, sizeof(batch));
    }
  }
  waiting_pieces(const waiting_pieces&) = delete;
  waiting_pieces& operator=(const waiting_pieces&) = delete;

  class owner;

  // `unlocked` is as for remainder::take. Passes the farthest piece to make(piece). Returns false
  // if there is none; the thief then drops the ticket. Under the lock.
  template <typename Loop, typename Unlocked, typename Make>
  bool steal(const Loop&, const Unlocked& unlocked, const Make& make) {
    std::size_t number = 0, end = 0;
    while (!rest_.take(farthest, /*may_grow=*/true, unlocked, &number, &end)) {
      if (rest_.give_up()) return false;
    }
    struct end_of_theft {
      waiting_pieces& from;
      node& n;
      ~end_of_theft() {
        n.piece.destroy();
        n.next = from.returned_;
        from.returned_ = &n;
      }
    } theft{*this, *ring_[number & mask_]};
    make(std::move(theft.n.piece.get()));
    return true;
  }

  // Leaves nothing. Called under the lock, when the owner has ended.
  void close() {
    destroy_all();
    rest_.close();
  }

 private:
  static std::size_t farthest(std::size_t, std::size_t end) { return end - 1; }

  // So far from 0 that it is never reached.
  static constexpr std::size_t kBegin = ~std::size_t(0) / 2 + 1;
  static constexpr std::size_t kFirstCapacity = 32, kBatch = 8;

  struct node {
    manual_lifetime<Piece> piece;
    node* next;  // of those that have no piece
  };
  struct batch {
    batch* next;
    node nodes[kBatch];
  };
  class copied;
  class kept;

  void destroy_all() {
    for (std::size_t i = rest_.begin(); i != rest_.end(); ++i) ring_[i & mask_]->piece.destroy();
    rest_.claim(rest_.end());
  }

  // Makes the ring larger if the pieces from `begin` on fill it. Returns nodes that are free, and
  // stores the end. The owner does not count what thieves take until it comes here.
  CORBEL_NOINLINE node* make_room(mutex& lock, std::size_t begin, node* free, std::size_t* end) {
    {
      mutex::scoped_lock guard(lock);
      *end = rest_.end();
      while (node* const n = returned_) {
        returned_ = n->next;
        n->next = free;
        free = n;
      }
      if (*end - begin == mask_ + 1) double_ring(begin, *end);
    }
    if (free != nullptr) return free;
    batch* const more = ::new (allocate_block(sizeof(batch))) batch;
    more->next = batches_;
    batches_ = more;
    return link(more->nodes);
  }

  void double_ring(std::size_t begin, std::size_t end) {
    const std::size_t mask = 2 * mask_ + 1;
    node** const larger = static_cast<node**>(allocate_block((mask + 1) * sizeof(node*)));
    for (std::size_t i = begin; i != end; ++i) larger[i & mask] = ring_[i & mask_];
    if (ring_ != first_ring_) deallocate_block(ring_, (mask_ + 1) * sizeof(node*));
    ring_ = larger;
    mask_ = mask;
  }

  // The owner's slow paths, which take the lock. Its variables are in registers, so none of these
  // gets the owner itself.
  CORBEL_NOINLINE bool reopen(mutex& lock) {
    mutex::scoped_lock guard(lock);
    return rest_.reopen(farthest);
  }
  CORBEL_NOINLINE bool settle(mutex& lock, std::size_t begin, std::size_t* end) {
    mutex::scoped_lock guard(lock);
    return rest_.settle(begin, begin + 1, farthest, end);
  }
  CORBEL_NOINLINE std::size_t count_cells(mutex& lock, std::size_t begin, std::size_t* end) {
    mutex::scoped_lock guard(lock);
    *end = rest_.end();
    std::size_t sum = 0;
    for (std::size_t i = begin; i != *end; ++i) sum += ring_[i & mask_]->piece.get().cells;
    return sum;
  }

  static node* link(node (&nodes)[kBatch]) {
    for (std::size_t i = 0; i + 1 < kBatch; ++i) nodes[i].next = &nodes[i + 1];
    nodes[kBatch - 1].next = nullptr;
    return nodes;
  }

  remainder rest_;
  std::size_t mask_ = kFirstCapacity - 1;
  node** ring_ = first_ring_;
  node* returned_ = nullptr;  // by thieves; protected by the lock
  batch* batches_ = nullptr;
  node* first_ring_[kFirstCapacity];
  node first_nodes_[kBatch];
};

// The piece that a runner runs. If copying it is cheap, it is a variable that no other code knows
// of: the compiler keeps its range in registers while the body runs. Else it stays in its node.
template <typename Piece>
class waiting_pieces<Piece>::copied {
 public:
  copied(Piece&& first, node*) : piece_(first) {}

  Piece& get() { return piece_; }
  // Returns a node that is free now, or nullptr.
  node* end() { return nullptr; }
  node* begin(node* next) {
    piece_ = next->piece.get();
    next->piece.destroy();
    return next;
  }

 private:
  Piece piece_;
};

template <typename Piece>
class waiting_pieces<Piece>::kept {
 public:
  kept(Piece&& first, node* place) : node_(place) { node_->piece.make(std::move(first)); }
  ~kept() {
    if (node_ != nullptr) node_->piece.destroy();
  }
  kept(const kept&) = delete;
  kept& operator=(const kept&) = delete;

  Piece& get() { return node_->piece.get(); }
  node* end() {
    node* const ended = node_;
    node_ = nullptr;
    ended->piece.destroy();
    return ended;
  }
  node* begin(node* next) {
    node_ = next;
    return nullptr;
  }

 private:
  node* node_;
};

// The side of the runner. What only the runner knows is here, so that the compiler can keep it in
// registers.
template <typename Piece>
class waiting_pieces<Piece>::owner {
 public:
  // `first` becomes the current piece. `lock` is the lock that thieves hold. Throws what moving the
  // piece throws.
  owner(waiting_pieces& waiting, mutex& lock, Piece&& first)
      : waiting_(waiting),
        lock_(lock),
        current_(std::move(first), &waiting.first_nodes_[0]),
        free_(link(waiting.first_nodes_)->next) {}
  owner(const owner&) = delete;
  owner& operator=(const owner&) = delete;

  Piece& current() { return current_.get(); }

  // Splits the current piece and puts its right part back. Throws bad_alloc and what the splitting
  // constructor throws.
  template <typename Split>
  void cut(Split&& how) {
    if (CORBEL_UNLIKELY(free_ == nullptr || end_ - begin_ > waiting_.mask_)) {
      std::size_t end = 0;
      free_ = waiting_.make_room(lock_, begin_, free_, &end);
      end_ = end;
    }
    node* const half = free_;
    half->piece.make(current(), std::forward<Split>(how));
    free_ = half->next;
    waiting_.ring_[(begin_ - 1) & waiting_.mask_] = half;
    if (CORBEL_UNLIKELY(!waiting_.rest_.put_back(begin_)) && waiting_.reopen(lock_)) {
      has_ticket_ = false;
    }
    --begin_;
  }

  // Whether pieces are waiting and there is no ticket for them.
  bool must_offer() const { return !has_ticket_ && begin_ != end_; }
  // Called before the ticket is pushed.
  void share() {
    waiting_.rest_.share(begin_);
    has_ticket_ = true;
  }

  // Ends the current piece and makes the nearest one current. Returns false if none is left.
  bool next() {
    release(current_.end());
    if (begin_ == end_) return false;
    if (CORBEL_UNLIKELY(!waiting_.rest_.claim(begin_ + 1))) {
      std::size_t end = 0;
      const bool is_left = waiting_.settle(lock_, begin_, &end);
      end_ = end;
      if (!is_left) return false;
    }
    release(current_.begin(waiting_.ring_[begin_ & waiting_.mask_]));
    ++begin_;
    return true;
  }

  // If pieces have been stolen, stores the cells of those that are left. Returns whether it has.
  bool count_cells(std::size_t* cells) {
    if (CORBEL_LIKELY(waiting_.rest_.known_end(begin_, end_) == end_)) return false;
    std::size_t end = 0;
    *cells = current().cells + waiting_.count_cells(lock_, begin_, &end);
    end_ = end;
    return true;
  }

 private:
  void release(node* n) {
    if (n == nullptr) return;
    n->next = free_;
    free_ = n;
  }

  static constexpr bool kCopies = std::is_trivially_copyable<Piece>::value &&
                                  std::is_trivially_copy_assignable<Piece>::value &&
                                  sizeof(Piece) <= 2 * kCacheLine;

  waiting_pieces& waiting_;
  mutex& lock_;
  typename std::conditional<kCopies, copied, kept>::type current_;
  node* free_;
  std::size_t begin_ = kBegin;  // the nearest piece
  std::size_t end_ = kBegin;    // the end when the owner last looked under the lock
  bool has_ticket_ = false;     // and no thief has dropped it
};

// ---- partitioners: when a piece is small enough, and which slot it belongs to -------------------

// The number of cells for policies that use cells only to measure how large pieces are relative to
// each other.
constexpr std::size_t kManyCells = std::size_t(1) << (std::numeric_limits<std::size_t>::digits - 2);

// Base of the policies whose parts belong to no slot.
struct unowned_parts {
  static constexpr bool kOwned = false;
  static std::size_t cells() { return kManyCells; }
  template <typename Piece>
  static void record_run(const Piece&, unsigned) {}
};

// simple_partitioner: a piece is small enough when the range is indivisible.
struct indivisible_parts : unowned_parts {
  indivisible_parts(thread_data&, const simple_partitioner&) {}

  template <typename Piece>
  static bool is_small(const Piece&, std::size_t, unsigned) {
    return false;
  }
};

// auto_partitioner: like shrinking_chunks.
class shrinking_parts : public unowned_parts {
 public:
  shrinking_parts(thread_data& thread, const auto_partitioner&)
      : shift_(shrinking_chunks::fraction_shift(arena_width(thread))) {}

  // `rest` is the cells that the runner still has, `calls` how often it has called the body.
  template <typename Piece>
  bool is_small(const Piece& p, std::size_t rest, unsigned calls) const {
    constexpr unsigned kSteps = shrinking_chunks::kFirstSteps;
    return p.cells == 1 || p.cells <= (rest >> (calls < kSteps ? shift_ + kSteps - calls : shift_));
  }

 private:
  const unsigned shift_;
};

// static_partitioner: cell i belongs to slot i.
class equal_parts {
 public:
  static constexpr bool kOwned = true;
  equal_parts(thread_data& thread, const static_partitioner&) : width_(arena_width(thread)) {}

  std::size_t cells() const { return width_; }
  template <typename Piece>
  static bool is_small(const Piece&, std::size_t, unsigned) {
    return true;
  }
  // Whether the whole piece belongs to one slot, and to which one.
  template <typename Piece>
  static bool has_one_owner(const Piece& p) {
    return p.cells == 1;
  }
  template <typename Piece>
  static unsigned owner(const Piece& p, unsigned) {
    return static_cast<unsigned>(p.begin);
  }
  template <typename Piece>
  static void record_run(const Piece&, unsigned) {}

 private:
  const unsigned width_;
};

// affinity_partitioner: a cell belongs to the slot that ran it last.
class remembered_parts {
 public:
  static constexpr bool kOwned = true;
  // Throws bad_alloc.
  remembered_parts(thread_data& thread, affinity_partitioner& partitioner)
      : remembered_parts(affinity_access::map(partitioner), arena_width(thread)) {}

  std::size_t cells() const { return cells_; }
  template <typename Piece>
  static bool is_small(const Piece& p, std::size_t, unsigned) {
    return p.cells == 1;
  }
  template <typename Piece>
  bool has_one_owner(const Piece& p) const {
    for (std::size_t i = 1; i < p.cells; ++i) {
      if (slots_[p.begin + i] != slots_[p.begin]) return false;
    }
    return true;
  }
  // Returns `own_slot` if no slot has run the piece yet.
  template <typename Piece>
  unsigned owner(const Piece& p, unsigned own_slot) const {
    const affinity_map::slot owner = slots_[p.begin];
    return owner == affinity_map::no_slot() ? own_slot : owner;
  }
  template <typename Piece>
  void record_run(const Piece& p, unsigned slot) const {
    for (std::size_t i = 0; i < p.cells; ++i) {
      slots_[p.begin + i] = static_cast<affinity_map::slot>(slot);
    }
  }

 private:
  remembered_parts(affinity_map& map, unsigned width)
      : cells_(map.prepare(width)), slots_(map.slots()) {}

  const std::size_t cells_;
  affinity_map::slot* const slots_;
};

// ---- the loop -----------------------------------------------------------------------------------

// The Loop over any Range. `Parts` is the partitioner's policy.
template <typename Range, typename Parts>
class range_loop {
 public:
  using piece = range_piece<Range>;
  using unbegun_type = waiting_pieces<piece>;

  template <typename Partitioner>
  range_loop(thread_data& thread, const Range& range, Partitioner& partitioner)
      : range_(range), parts_(thread, partitioner), is_shared_(arena_width(thread) > 1) {}

  piece whole() const { return piece(range_, 0, parts_.cells()); }

  // Calls the body for all of `first`, except what thieves take. Throws what the body, copies and
  // splits of the range throw, and bad_alloc.
  template <typename Runner>
  CORBEL_NOINLINE void run(Runner& runner, piece& first) const {
    const unsigned slot = Parts::kOwned ? slot_index(runner.thread()) : 0;
    if (runner.is_first() &&
        !send_parts(runner, first, slot, std::integral_constant<bool, Parts::kOwned>())) {
      return;
    }
    own_pieces pieces(runner.unbegun(), runner.lock(), std::move(first));
    std::size_t rest = pieces.current().cells;  // what the runner still has
    for (unsigned calls = 0;; ++calls) {
      while (!parts_.is_small(pieces.current(), rest, calls) &&
             pieces.current().range.is_divisible()) {
        halve(pieces, std::integral_constant<bool, Parts::kOwned>());
      }
      if (CORBEL_UNLIKELY(is_shared_ && pieces.must_offer())) {
        pieces.share();
        runner.offer();
      }
      if (runner.is_cancelled()) {
        if (calls == 0) runner.has_done_nothing();
        return;
      }
      runner.body()(pieces.current().range);
      parts_.record_run(pieces.current(), slot);
      rest -= pieces.current().cells;
      if (!pieces.next()) return;
      pieces.count_cells(&rest);
    }
  }

 private:
  using own_pieces = typename unbegun_type::owner;

  static void halve(own_pieces& pieces, std::false_type /* by cells */) { pieces.cut(split()); }
  // The numbers of cells in the halves may differ.
  static void halve(own_pieces& pieces, std::true_type /* by cells */) {
    const std::size_t cells = pieces.current().cells;
    proportional_split how(cells - cells / 2, cells / 2);
    pieces.cut(how);
  }

  template <typename Runner>
  static bool send_parts(Runner&, piece&, unsigned, std::false_type) {
    return true;
  }

  // Sends all parts to their owners, from right to left. Returns whether the leftmost part, which
  // stays in `p`, belongs to the caller's slot.
  template <typename Runner>
  bool send_parts(Runner& runner, piece& p, unsigned own_slot, std::true_type owned) const {
    while (!parts_.has_one_owner(p) && p.range.is_divisible()) {
      proportional_split how(p.cells - p.cells / 2, p.cells / 2);
      piece right(p, how);
      send_parts(runner, right, own_slot, owned);
    }
    const unsigned owner = parts_.owner(p, own_slot);
    if (p.begin == 0 && owner == own_slot) return true;
    runner.send(std::move(p), owner, own_slot);
    return false;
  }

  const Range& range_;
  const Parts parts_;
  const bool is_shared_;  // whether other threads may take part
};

// ---- which loop runs a range with a partitioner -------------------------------------------------

template <typename Range>
struct loop_for<Range, simple_partitioner> {
  using type = range_loop<Range, indivisible_parts>;
};
template <typename Range>
struct loop_for<Range, auto_partitioner> {
  using type = range_loop<Range, shrinking_parts>;
};
template <typename Range>
struct loop_for<Range, static_partitioner> {
  using type = range_loop<Range, equal_parts>;
};
template <typename Range>
struct loop_for<Range, affinity_partitioner> {
  using type = range_loop<Range, remembered_parts>;
};

template <typename Value>
struct loop_for<blocked_range<Value>, simple_partitioner>
    : std::conditional<is_numbered<Value>::value, chunk_loop<Value, even_chunks>,
                       range_loop<blocked_range<Value>, indivisible_parts>> {};
template <typename Value>
struct loop_for<blocked_range<Value>, auto_partitioner>
    : std::conditional<is_numbered<Value>::value, chunk_loop<Value, shrinking_chunks>,
                       range_loop<blocked_range<Value>, shrinking_parts>> {};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_RANGE_LOOP_HPP
