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

// The pieces that a runner has cut off and not begun: the runner puts the nearest on top and takes it
// from there, thieves take the farthest, which is usually the largest. Their numbers are those of a
// remainder, the top one first; a number modulo the capacity is the place in the ring.
//
// A thief that finds no piece drops the ticket, but the runner may cut its current piece later. So
// the thief says so (is_dropped_), passes a process barrier and looks again; the runner puts a piece
// on top and then looks whether the ticket was dropped. Either the thief finds the piece, or the
// runner sees that it must offer again.
template <typename Piece>
class piece_stack {
 public:
  template <typename Anything>
  piece_stack(const Anything&, bool slow) : rest_(kBegin, kBegin, slow), slow_(slow) {
#if defined(__GNUC__) && !defined(__clang__)
    // Tells gcc that the memory is initialised. Only full places are read, which gcc cannot see, so
    // it would warn.
    __asm__("" : "=m"(first_ring_));
#endif
  }
  ~piece_stack() {
    if (ring_ != first_ring()) deallocate_block(ring_, bytes(capacity_));
  }
  piece_stack(const piece_stack&) = delete;
  piece_stack& operator=(const piece_stack&) = delete;

  // ---- for the owner; `lock` is the lock that thieves hold

  // Whether there is certainly no piece.
  bool is_empty() const { return begin_ == end_; }

  // Throws bad_alloc and what the splitting constructor throws.
  void push_half_of(Piece& whole, mutex& lock) {
    if (CORBEL_UNLIKELY(end_ - begin_ == capacity_)) make_room(lock);
    ::new (static_cast<void*>(&at(begin_ - 1))) Piece(whole, split());
    if (CORBEL_UNLIKELY(slow_)) {
      mutex::scoped_lock guard(lock);
      rest_.put_back(begin_);
    } else {
      rest_.put_back(begin_);
    }
    --begin_;
  }

  // Whether a thief has dropped the ticket. Called after a push; the owner then offers again.
  bool was_dropped(mutex& lock) {
    deque_system::compiler_barrier();
    // relaxed: the thief's barrier orders it after the push
    if (CORBEL_LIKELY(!is_dropped_.load(std::memory_order_relaxed))) return false;
    mutex::scoped_lock guard(lock);
    // relaxed, both: the lock orders them
    const bool was = is_dropped_.load(std::memory_order_relaxed);
    is_dropped_.store(false, std::memory_order_relaxed);
    return was;
  }

  // Passes the top piece to use(piece) and destroys it. Returns false if there is none.
  // Sets `*met_thief` if pieces have been stolen.
  template <typename Use>
  bool pop(mutex& lock, bool* met_thief, const Use& use) {
    if (is_empty()) return false;
    std::size_t claimed = begin_ + 1;
    if (CORBEL_UNLIKELY(rest_.claim(claimed) != end_)) {
      const std::size_t known_end = end_;
      mutex::scoped_lock guard(lock);
      const auto one = [&](std::size_t) { return begin_ + 1; };
      const bool is_left = rest_.settle(begin_, &end_, &claimed, one);
      if (end_ != known_end) *met_thief = true;
      if (!is_left) return false;
    }
    const piece_end top(at(begin_));
    begin_ = claimed;
    use(top.piece);
    return true;
  }

  // The cells of all pieces that no thief has taken.
  std::size_t cells(mutex& lock) {
    mutex::scoped_lock guard(lock);
    end_ = rest_.end();
    std::size_t sum = 0;
    for (std::size_t i = begin_; i != end_; ++i) sum += at(i).cells;
    return sum;
  }

  // Under the lock, unless there is no ticket: drops all pieces.
  void close() {
    for (std::size_t end = rest_.end(); begin_ != end; ++begin_) at(begin_).~Piece();
    end_ = begin_;
    rest_.claim(begin_);
    rest_.close();
  }

  // ---- for thieves, under the lock

  // Passes the farthest piece to make(piece). Returns false if there is none, and drops the ticket.
  template <typename Loop, typename Make>
  bool steal(const Loop&, const Make& make) {
    const auto last = [](std::size_t, std::size_t end) { return end - 1; };
    std::size_t from = 0, to = 0;
    if (!rest_.take(last, &from, &to)) {
      is_dropped_.store(true, std::memory_order_relaxed);  // relaxed: the barrier orders it
      if (!slow_) deque_system::process_barrier();
      if (!rest_.take(last, &from, &to)) return false;
      is_dropped_.store(false, std::memory_order_relaxed);  // relaxed: read under the lock
    }
    const piece_end farthest(at(from));
    make(std::move(farthest.piece));
    return true;
  }

 private:
  // So far from 0 that it is never reached.
  static constexpr std::size_t kBegin = ~std::size_t(0) / 2 + 1;
  static constexpr std::size_t kFirstCapacity = 8;

  // Destroys a piece at the end of the scope.
  struct piece_end {
    Piece& piece;
    explicit piece_end(Piece& p) : piece(p) {}
    piece_end(const piece_end&) = delete;
    ~piece_end() { piece.~Piece(); }
  };

  void* first_ring() { return first_ring_; }
  Piece& at(std::size_t number) { return place(ring_, capacity_, number); }
  static Piece& place(void* ring, std::size_t capacity, std::size_t number) {
    return static_cast<Piece*>(ring)[number & (capacity - 1)];
  }
  static std::size_t bytes(std::size_t capacity) { return capacity * sizeof(Piece); }

  // The owner counts the places of stolen pieces as full until it comes here: before that, a thief
  // may still move its piece out.
  void make_room(mutex& lock) {
    mutex::scoped_lock guard(lock);
    end_ = rest_.end();
    if (end_ - begin_ != capacity_) return;
    void* const larger = allocate_block(bytes(2 * capacity_));
    std::size_t moved = begin_;
    struct undo {
      void* ring;
      std::size_t capacity, begin;
      std::size_t& end;
      ~undo() {
        if (ring == nullptr) return;
        for (std::size_t i = begin; i != end; ++i) place(ring, capacity, i).~Piece();
        deallocate_block(ring, bytes(capacity));
      }
    } unwind{larger, 2 * capacity_, begin_, moved};
    for (; moved != end_; ++moved) {
      ::new (static_cast<void*>(&place(larger, 2 * capacity_, moved))) Piece(std::move(at(moved)));
    }
    unwind.ring = nullptr;
    for (std::size_t i = begin_; i != end_; ++i) at(i).~Piece();
    if (ring_ != first_ring()) deallocate_block(ring_, bytes(capacity_));
    ring_ = larger;
    capacity_ *= 2;
  }

  remainder rest_;
  std::size_t begin_ = kBegin;  // the top piece
  std::size_t end_ = kBegin;    // the end when the owner last held the lock
  const bool slow_;
  std::atomic<bool> is_dropped_{false};
  std::size_t capacity_ = kFirstCapacity;
  void* ring_ = first_ring_;
  alignas(Piece) unsigned char first_ring_[kFirstCapacity * sizeof(Piece)];
};

// The piece that the runner works on. Ranges need not be assignable, so it is replaced by
// destruction and construction.
template <typename Piece>
class current_piece {
 public:
  explicit current_piece(Piece& p) { ::new (static_cast<void*>(memory_)) Piece(std::move(p)); }
  ~current_piece() {
    if (full_) piece().~Piece();
  }
  current_piece(const current_piece&) = delete;
  current_piece& operator=(const current_piece&) = delete;

  void replace(Piece& p) {
    piece().~Piece();
    full_ = false;  // in case the constructor throws
    ::new (static_cast<void*>(memory_)) Piece(std::move(p));
    full_ = true;
  }
  Piece& operator*() { return piece(); }
  Piece* operator->() { return &piece(); }

 private:
  Piece& piece() { return *reinterpret_cast<Piece*>(memory_); }

  bool full_ = true;
  alignas(Piece) unsigned char memory_[sizeof(Piece)];
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
  using unbegun = piece_stack<piece>;

  template <typename Partitioner>
  range_loop(thread_data& thread, const Range& range, Partitioner& partitioner)
      : range_(range), parts_(thread, partitioner), is_shared_(arena_width(thread) > 1) {}

  piece whole() const { return piece(range_, 0, parts_.cells()); }

  // Calls the body for all of `first`, except what thieves take. Throws what the body, copies and
  // splits of the range throw, and bad_alloc.
  template <typename Runner>
  void run(Runner& runner, piece& first) const {
    const unsigned slot = Parts::kOwned ? slot_index(runner.thread()) : 0;
    if (runner.is_first() &&
        !send_parts(runner, first, slot, std::integral_constant<bool, Parts::kOwned>())) {
      return;
    }
    current_piece<piece> current(first);
    piece_stack<piece>& waiting = runner.unbegun();
    mutex& lock = runner.lock();
    std::size_t rest = current->cells;  // what the runner still has
    bool has_offered = false;
    bool met_thief = false;
    for (unsigned calls = 0;; ++calls) {
      bool has_pushed = false;
      while (!parts_.is_small(*current, rest, calls) && current->range.is_divisible()) {
        waiting.push_half_of(*current, lock);
        has_pushed = true;
      }
      if (has_pushed && is_shared_ && (!has_offered || waiting.was_dropped(lock))) {
        runner.offer();
        has_offered = true;
      }
      if (runner.is_cancelled()) return;
      runner.body()(current->range);
      parts_.record_run(*current, slot);
      rest -= current->cells;
      const auto replace = [&](piece& p) { current.replace(p); };
      if (!waiting.pop(lock, &met_thief, replace)) return;
      if (CORBEL_UNLIKELY(met_thief)) {
        rest = current->cells + waiting.cells(lock);
        met_thief = false;
      }
    }
  }

 private:
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
