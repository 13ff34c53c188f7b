// SPDX-License-Identifier: Apache-2.0
// Loops over whatever can be split: the ranges of the program, and all ranges where parts belong to
// certain threads.
#ifndef CORBEL_DETAIL_RANGE_LOOP_HPP
#define CORBEL_DETAIL_RANGE_LOOP_HPP

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/chunk_loop.hpp>
#include <corbel/partitioner.hpp>
#include <corbel/split.hpp>

namespace corbel {
namespace detail {

// Calls the body of a loop or a reduction.
template <typename Body, typename Range>
inline void give_range(const Body& body, Range& range) {
  call(body, range);
}
template <typename Body, typename Range>
inline void give_range(Body& body, Range& range) {
  body(range);
}

// Whether a range can be split by proportion. Classic TBB's ranges may say that they cannot.
template <typename Range, typename = void>
struct denies_proportion : std::false_type {};
template <typename Range>
struct denies_proportion<Range, typename std::enable_if<!Range::is_splittable_in_proportion>::type>
    : std::true_type {};
template <typename Range>
using is_proportional =
    std::integral_constant<bool, std::is_constructible<Range, Range&, proportional_split&>::value &&
                                     !denies_proportion<Range>::value>;

// A range, and which part of the whole loop it is, measured in cells. What a cell is depends on the
// partitioner.
template <typename Range>
struct range_piece {
  Range range;
  std::size_t begin;
  std::size_t cells;

  range_piece(const Range& r, std::size_t first, std::size_t count)
      : range(r), begin(first), cells(count) {}

  // The right half of `whole`, which becomes the left one.
  range_piece(range_piece& whole, split how)
      : range(whole.range, how),
        begin(whole.begin + (whole.cells - whole.cells / 2)),
        cells(whole.cells / 2) {
    whole.cells -= cells;
  }

  // As above; `how` counts cells, and the range is split like them if it can be.
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

// The pieces to the right of the one that is being run, the nearest last. The oldest is the
// largest, as a rule.
template <typename Piece>
class piece_ring {
 public:
  piece_ring() {
#if defined(__GNUC__) && !defined(__clang__)
    // As if all was written, since the compiler cannot tell that only full places are read, and
    // warns.
    __asm__("" : "=m"(memory_));
#endif
  }
  ~piece_ring() {
    while (!empty()) pop_nearest();
  }
  piece_ring(const piece_ring&) = delete;
  piece_ring& operator=(const piece_ring&) = delete;

  bool empty() const { return count_ == 0; }
  bool is_full() const { return count_ == kMost; }
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
    first_ = (first_ + 1) % kMost;
    --count_;
  }

  std::size_t cells() {
    std::size_t sum = 0;
    for (unsigned i = 0; i < count_; ++i) sum += at(i).cells;
    return sum;
  }

 private:
  static constexpr unsigned kMost = 8;

  Piece& at(unsigned i) {
    return *reinterpret_cast<Piece*>(memory_ + sizeof(Piece) * ((first_ + i) % kMost));
  }

  unsigned first_ = 0;
  unsigned count_ = 0;
  alignas(Piece) unsigned char memory_[kMost * sizeof(Piece)];
};

// The piece that is being run. Ranges need not be assignable.
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
    full_ = false;  // until the constructor has not thrown
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

// ---- when a piece is small enough ---------------------------------------------------------------

// Where cells only say how large pieces are among each other.
constexpr std::size_t kManyCells = std::size_t(1) << (std::numeric_limits<std::size_t>::digits - 2);

// What those parts have in common that are nobody's in particular.
struct unowned_parts {
  static constexpr bool kOwned = false;
  static std::size_t cells() { return kManyCells; }
  template <typename Piece>
  static void ran(const Piece&, unsigned) {}
};

// simple_partitioner: when the range says so.
struct indivisible_parts : unowned_parts {
  template <typename Piece>
  static bool is_small(const Piece&, std::size_t, unsigned) {
    return false;
  }
};

// auto_partitioner: as shrinking_chunks.
class shrinking_parts : public unowned_parts {
 public:
  explicit shrinking_parts(unsigned shift) : shift_(shift) {}

  // `rest`: the cells that the strand still has; `calls`: how often it has called the body.
  template <typename Piece>
  bool is_small(const Piece& p, std::size_t rest, unsigned calls) const {
    constexpr unsigned kSteps = shrinking_chunks::kFirstSteps;
    return p.cells == 1 || p.cells <= (rest >> (calls < kSteps ? shift_ + kSteps - calls : shift_));
  }

 private:
  const unsigned shift_;
};

// static_partitioner: cell i is the part of the thread in place i.
class equal_parts {
 public:
  static constexpr bool kOwned = true;
  explicit equal_parts(unsigned width) : width_(width) {}

  std::size_t cells() const { return width_; }
  template <typename Piece>
  static bool is_small(const Piece&, std::size_t, unsigned) {
    return true;
  }
  // Whether one thread owns the piece, and which.
  template <typename Piece>
  static bool has_one_owner(const Piece& p) {
    return p.cells == 1;
  }
  template <typename Piece>
  static unsigned owner(const Piece& p, unsigned) {
    return static_cast<unsigned>(p.begin);
  }
  template <typename Piece>
  static void ran(const Piece&, unsigned) {}

 private:
  const unsigned width_;
};

// affinity_partitioner: the owner of a cell is who ran it last.
class remembered_parts {
 public:
  static constexpr bool kOwned = true;
  explicit remembered_parts(affinity_map& map) : cells_(map.cells()), slots_(map.slots()) {}

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
  // What nobody has run yet may be anybody's.
  template <typename Piece>
  unsigned owner(const Piece& p, unsigned anybody) const {
    const affinity_map::slot owner = slots_[p.begin];
    return owner == affinity_map::nobody() ? anybody : owner;
  }
  template <typename Piece>
  void ran(const Piece& p, unsigned slot) const {
    for (std::size_t i = 0; i < p.cells; ++i) {
      slots_[p.begin + i] = static_cast<affinity_map::slot>(slot);
    }
  }

 private:
  const std::size_t cells_;
  affinity_map::slot* const slots_;
};

// ---- the space ----------------------------------------------------------------------------------

template <typename Range, typename Parts>
class range_space {
 public:
  using piece = range_piece<Range>;

  range_space(const Range& range, const Parts& parts) : range_(range), parts_(parts) {}

  piece whole() const { return piece(range_, 0, parts_.cells()); }

  template <typename Strand>
  void run(Strand& s, piece& first) const {
    const unsigned slot = Parts::kOwned ? slot_index(s.thread()) : 0;
    if (s.is_first() &&
        !send_parts(s, first, slot, std::integral_constant<bool, Parts::kOwned>())) {
      return;
    }
    current_piece<piece> current(first);
    piece_ring<piece> waiting;
    std::size_t rest = current->cells;  // what the strand still has, exposed pieces included
    for (unsigned calls = 0;; ++calls) {
      while (!parts_.is_small(*current, rest, calls) && current->range.is_divisible()) {
        if (waiting.is_full()) expose_oldest(s, waiting);
        waiting.push_half_of(*current);
      }
      if (!waiting.empty() && !s.has_exposed()) {
        rest = current->cells + waiting.cells();
        expose_oldest(s, waiting);
      }
      if (s.is_cancelled()) return;
      give_range(s.body(), current->range);
      parts_.ran(*current, slot);
      rest -= current->cells;
      if (!waiting.empty()) {
        current.replace(waiting.nearest());
        waiting.pop_nearest();
      } else {
        const typename Strand::owned t = s.take_back();
        if (!t) return;
        current.replace(t->piece);
      }
    }
  }

 private:
  template <typename Strand>
  static void expose_oldest(Strand& s, piece_ring<piece>& waiting) {
    s.expose(std::move(waiting.oldest()), 1);
    waiting.pop_oldest();
  }

  template <typename Strand>
  static bool send_parts(Strand&, piece&, unsigned, std::false_type) {
    return true;
  }

  // Gives all parts to their owners, from right to left. Whether the leftmost part, which is left
  // in `p`, is for the caller.
  template <typename Strand>
  bool send_parts(Strand& s, piece& p, unsigned own_slot, std::true_type owned) const {
    while (!parts_.has_one_owner(p) && p.range.is_divisible()) {
      proportional_split how(p.cells - p.cells / 2, p.cells / 2);
      piece right(p, how);
      send_parts(s, right, own_slot, owned);
    }
    const unsigned owner = parts_.owner(p, own_slot);
    if (p.begin == 0 && owner == own_slot) return true;
    s.send(std::move(p), owner, own_slot);
    return false;
  }

  const Range& range_;
  const Parts parts_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_RANGE_LOOP_HPP
