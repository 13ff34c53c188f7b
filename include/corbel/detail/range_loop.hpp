// SPDX-License-Identifier: Apache-2.0
// Loops over any range that can be split: ranges of the program, and every range whose parts belong
// to certain threads. Also chooses the Loop for a range and a partitioner. Not for programs to
// include.
#ifndef CORBEL_DETAIL_RANGE_LOOP_HPP
#define CORBEL_DETAIL_RANGE_LOOP_HPP

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

// The pieces to the right of the current one, the nearest last. The oldest is usually the largest.
template <typename Piece>
class piece_ring {
 public:
  piece_ring() {
#if defined(__GNUC__) && !defined(__clang__)
    // Tells gcc that the memory is initialised. Only full entries are read, which gcc cannot see,
    // so it would warn.
    __asm__("" : "=m"(memory_));
#endif
  }
  ~piece_ring() {
    while (!empty()) pop_nearest();
  }
  piece_ring(const piece_ring&) = delete;
  piece_ring& operator=(const piece_ring&) = delete;

  bool empty() const { return count_ == 0; }
  bool is_full() const { return count_ == kMax; }
  Piece& nearest() { return at(count_ - 1); }
  Piece& oldest() { return at(0); }

  void push_half_of(Piece& whole) {
    ::new (static_cast<void*>(&at(count_))) Piece(whole, split());
    ++count_;
  }
  void pop_nearest() {
    nearest().~Piece();
    --count_;
  }
  void pop_oldest() {
    oldest().~Piece();
    first_ = (first_ + 1) % kMax;
    --count_;
  }

  std::size_t cells() {
    std::size_t sum = 0;
    for (unsigned i = 0; i < count_; ++i) sum += at(i).cells;
    return sum;
  }

 private:
  static constexpr unsigned kMax = 8;

  Piece& at(unsigned i) {
    return *reinterpret_cast<Piece*>(memory_ + sizeof(Piece) * ((first_ + i) % kMax));
  }

  unsigned first_ = 0;
  unsigned count_ = 0;
  alignas(Piece) unsigned char memory_[kMax * sizeof(Piece)];
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

  template <typename Partitioner>
  range_loop(thread_data& thread, const Range& range, Partitioner& partitioner)
      : range_(range), parts_(thread, partitioner) {}

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
    piece_ring<piece> waiting;
    std::size_t rest = current->cells;  // what the runner still has, exposed pieces included
    for (unsigned calls = 0;; ++calls) {
      while (!parts_.is_small(*current, rest, calls) && current->range.is_divisible()) {
        if (waiting.is_full()) expose_oldest(runner, waiting);
        waiting.push_half_of(*current);
      }
      if (!waiting.empty() && !runner.has_exposed()) {
        rest = current->cells + waiting.cells();
        expose_oldest(runner, waiting);
      }
      if (runner.is_cancelled()) return;
      runner.body()(current->range);
      parts_.record_run(*current, slot);
      rest -= current->cells;
      if (!waiting.empty()) {
        current.replace(waiting.nearest());
        waiting.pop_nearest();
      } else {
        const typename Runner::owned_task t = runner.take_back();
        if (!t) return;
        current.replace(t->piece);
      }
    }
  }

 private:
  template <typename Runner>
  static void expose_oldest(Runner& runner, piece_ring<piece>& waiting) {
    runner.expose(std::move(waiting.oldest()), 1);
    waiting.pop_oldest();
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
