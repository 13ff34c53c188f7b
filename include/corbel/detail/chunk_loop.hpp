// SPDX-License-Identifier: Apache-2.0
// Loops over a blocked_range of integers or random access iterators. Chunks are cut from a piece by
// arithmetic on positions: no call of a splitting constructor for each. Not for programs to
// include.
#ifndef CORBEL_DETAIL_CHUNK_LOOP_HPP
#define CORBEL_DETAIL_CHUNK_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/blocked_range.hpp>
#include <corbel/detail/loop.hpp>

namespace corbel {
namespace detail {

// A piece of a loop: the positions from begin up to, not including, end.
struct chunk_piece {
  std::size_t begin;
  std::size_t end;
};

// Where chunks may begin and end: at multiples of the grain size, except that the last two of the
// range share what remains, if it is not a multiple. So whatever lies between two borders can be
// divided into parts of half the grain size, rounded up, to the grain size. Pieces, too, begin and
// end at borders.
class chunk_borders {
 public:
  chunk_borders(std::size_t size, std::size_t grain)
      : size_(size), grain_(grain < size ? grain : size), last_pair_(size) {
    if (grain_ != 1 && size % grain_ != 0) last_pair_ = size - size % grain_ - grain_;
  }

  bool is_divisible(const chunk_piece& p) const { return p.end - p.begin > grain_; }

  // Where a thief cuts what a runner has not begun: it takes half of the smallest chunks, and the
  // middle one.
  std::size_t cut(std::size_t begin, std::size_t end) const {
    const std::size_t first = number_of(begin), last = number_of(end);
    const std::size_t middle = first + (last - first) / 2;
    const std::size_t regular = last_pair_ / grain_;
    return middle <= regular ? middle * grain_ : middle_of_pair();
  }

  std::size_t grain() const { return grain_; }
  // Where the last two chunks begin, if they are shorter than the others.
  std::size_t last_pair() const { return last_pair_; }
  // Where the chunk at a position in the last pair ends, in a piece that ends at `end`.
  std::size_t end_in_pair(std::size_t position, std::size_t end) const {
    return position < middle_of_pair() ? middle_of_pair() : end;
  }

 private:
  std::size_t middle_of_pair() const { return last_pair_ + (size_ - last_pair_) / 2; }
  // The number of the smallest chunk that begins at a position.
  std::size_t number_of(std::size_t position) const {
    return position <= last_pair_ ? position / grain_
                                  : last_pair_ / grain_ + (position == size_ ? 2 : 1);
  }

  const std::size_t size_;
  const std::size_t grain_;
  std::size_t last_pair_;
};

// The chunks of simple_partitioner: the smallest.
class even_chunks : public chunk_borders {
 public:
  even_chunks(std::size_t size, std::size_t grain, unsigned) : chunk_borders(size, grain) {}

  // The lengths of the chunks that one runner cuts.
  class lengths {
   public:
    explicit lengths(const even_chunks& chunks) : borders_(chunks) {}
    // The length of the chunk at a position, in a piece that ends at `end`. Those that follow, up
    // to `*same_until`, have the same length.
    std::size_t next(std::size_t position, std::size_t end, std::size_t* same_until) const {
      if (position < borders_.last_pair()) {
        *same_until = end < borders_.last_pair() ? end : borders_.last_pair();
        return borders_.grain();
      }
      *same_until = borders_.end_in_pair(position, end);
      return *same_until - position;
    }

   private:
    const chunk_borders& borders_;
  };
};

// The chunks of auto_partitioner: each is a fixed fraction of what the runner still has, or the
// smallest possible. A runner starts with smaller fractions and doubles them kFirstSteps times,
// because its first chunks may be all the work there is.
class shrinking_chunks : public chunk_borders {
 public:
  shrinking_chunks(std::size_t size, std::size_t grain, unsigned width)
      : chunk_borders(size, grain), shift_(fraction_shift(width)) {}

  static constexpr unsigned kFirstSteps = 4;

  // The fraction as a shift: it cuts the rest into 4 to 8 times as many chunks as there are
  // threads.
  static unsigned fraction_shift(unsigned width) {
    unsigned shift = 2;
    while ((1U << (shift - 2)) < width) ++shift;
    return shift;
  }

  class lengths {
   public:
    explicit lengths(const shrinking_chunks& chunks)
        : borders_(chunks), shift_(chunks.shift_ + kFirstSteps), last_shift_(chunks.shift_) {}

    std::size_t next(std::size_t position, std::size_t end, std::size_t* same_until) {
      const std::size_t part = (end - position) >> shift_;
      if (shift_ != last_shift_) --shift_;
      *same_until = border_after(position, part, end);
      return *same_until - position;
    }

   private:
    // The last border that is not more than `part` after `position`, but at least the next one.
    std::size_t border_after(std::size_t position, std::size_t part, std::size_t end) const {
      const std::size_t grain = borders_.grain();
      if (grain == 1) return position + (part == 0 ? 1 : part);
      const std::size_t regular = part < grain ? grain : part - part % grain;
      if (position < borders_.last_pair()) {
        const std::size_t last = borders_.last_pair() < end ? borders_.last_pair() : end;
        return regular < last - position ? position + regular : last;
      }
      return borders_.end_in_pair(position, end);
    }

    const chunk_borders& borders_;
    unsigned shift_;
    const unsigned last_shift_;
  };

 private:
  const unsigned shift_;
};

// The value at a position. For integers the sum is taken in the unsigned type: the range may be
// longer than the maximum of its own type.
template <typename Value>
inline Value value_at(Value first, std::size_t position, std::true_type /* is integral */) {
  return static_cast<Value>(static_cast<std::size_t>(first) + position);
}
template <typename Value>
inline Value value_at(const Value& first, std::size_t position, std::false_type) {
  return first + static_cast<typename std::iterator_traits<Value>::difference_type>(position);
}

// The Loop over a blocked_range<Value>. `Chunks` says how long the chunks are.
template <typename Value, typename Chunks>
class chunk_loop {
 public:
  using piece = chunk_piece;

  // The positions that a runner has not begun.
  class unbegun_type : public remainder {
   public:
    unbegun_type(const piece& p, bool slow) : remainder(p.begin, p.end, slow) {}

    // Under the lock: passes what a thief gets to make(piece). Returns false if nothing is left.
    // `unlocked` is as for remainder::take.
    template <typename Unlocked, typename Make>
    bool steal(const chunk_loop& loop, const Unlocked& unlocked, const Make& make) {
      piece stolen;
      const auto cut = [&](std::size_t begin, std::size_t end) {
        return loop.chunks_.cut(begin, end);
      };
      if (!this->take(cut, /*may_grow=*/false, unlocked, &stolen.begin, &stolen.end)) return false;
      make(std::move(stolen));
      return true;
    }
  };

  template <typename Partitioner>
  chunk_loop(thread_data& thread, const blocked_range<Value>& range, const Partitioner&)
      : chunk_loop(range, arena_width(thread)) {}

  piece whole() const { return {0, size_}; }

  // Calls the body for all of `p`, except what thieves take. Throws what the body and copies of
  // Value throw, and bad_alloc.
  template <typename Runner>
  CORBEL_NOINLINE void run(Runner& runner, const piece& p) const {
    typename Chunks::lengths lengths(chunks_);
    remainder& unbegun = runner.unbegun();
    if (is_shared_ && chunks_.is_divisible(p)) {
      // The runner keeps the first chunk, so that every body has something to join.
      typename Chunks::lengths first(lengths);
      std::size_t same_until = 0;
      const std::size_t rest = p.begin + first.next(p.begin, p.end, &same_until);
      unbegun.claim(rest);
      unbegun.share(rest);
      runner.offer();
    }
    auto& body = runner.body();
    context_node& group = runner.group();
    thread_data& thread = runner.thread();
    const std::atomic<std::uint64_t>& cancellations = *thread.cancellations;
    // relaxed: as in is_current
    std::uint64_t checked = group.state.load(std::memory_order_relaxed);
    std::size_t position = p.begin;
    std::size_t end = p.end;
    Value at = value_at(first_, position, std::is_integral<Value>());
    for (;;) {
      while (position != end) {
        std::size_t same_until = 0;
        const std::size_t length = lengths.next(position, end, &same_until);
        do {
          position += length;
          if (CORBEL_UNLIKELY(!unbegun.claim(position))) {
            if (!settle(runner, position - length, position, &end)) {
              position -= length;
              break;
            }
            same_until = position;
          }
          // is_cancelled_between_chunks, with the state that was checked last in a register.
          // relaxed, both: as in is_current
          if (CORBEL_UNLIKELY(cancellations.load(std::memory_order_relaxed) != checked)) {
            if (end_chunk(thread, group)) {
              if (position - length == p.begin) runner.has_done_nothing();
              return;
            }
            checked = group.state.load(std::memory_order_relaxed);
          }
          const Value stop = value_at(at, length, std::is_integral<Value>());
#if defined(__GNUC__)
          // A chunk is not empty: the body's loop need not test that.
          if (std::is_scalar<Value>::value && !(at < stop)) __builtin_unreachable();
#endif
          blocked_range<Value> chunk(at, stop, grain_);
          body(chunk);
          at = stop;
        } while (position != same_until);
        end = unbegun.known_end(position, end);
      }
      if (runner.take_ticket()) return;
      // A thief may have lowered the limit for a while, and raised it again.
      settle(runner, position, position, &end);
      if (position == end) return;
    }
  }

 private:
  chunk_loop(const blocked_range<Value>& range, unsigned width)
      : size_(range.size()),
        chunks_(size_, range.grainsize() == 0 ? 1 : range.grainsize(), width),
        first_(range.begin()),
        grain_(range.grainsize()),
        is_shared_(width > 1) {}

  // Claims the positions before `next` under the lock. If that is not possible, claims nothing and
  // returns false. Stores the end of what is left.
  template <typename Runner>
  CORBEL_NOINLINE bool settle(Runner& runner, std::size_t position, std::size_t next,
                              std::size_t* end) const {
    const auto cut = [&](std::size_t first, std::size_t last) {
      const std::size_t middle = chunks_.cut(first, last);
      return middle == first ? last : middle;  // the last chunk is the runner's
    };
    mutex::scoped_lock guard(runner.lock());
    return runner.unbegun().settle(position, next, cut, end);
  }

  const std::size_t size_;
  const Chunks chunks_;
  const Value first_;
  const std::size_t grain_;
  const bool is_shared_;  // whether other threads may take part
};

// ---- which values positions can number ----------------------------------------------------------

template <typename Value, typename = void>
struct is_random_access : std::false_type {};
template <typename Value>
struct is_random_access<Value, typename std::enable_if<std::is_convertible<
                                   typename std::iterator_traits<Value>::iterator_category,
                                   std::random_access_iterator_tag>::value>::type>
    : std::true_type {};

// Whether arithmetic may replace the splitting constructors of blocked_range<Value>.
template <typename Value>
struct is_numbered : std::integral_constant<bool, std::is_integral<Value>::value ||
                                                      is_random_access<Value>::value> {};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CHUNK_LOOP_HPP
