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

// The chunks of simple_partitioner: between half the grain size, rounded up, and the grain size.
//
// All chunks have the grain size except the last two of the range, which share what remains. A
// piece carries the number of its chunks, so that only the start of a loop divides. The length of a
// piece is a multiple of the grain size unless it contains those two chunks or is one of them.
class even_chunks {
 public:
  struct piece {
    std::size_t begin;
    std::size_t end;
    std::size_t count;  // of chunks
  };

  even_chunks(std::size_t size, std::size_t grain, unsigned width)
      : size_(size), grain_(grain), is_shared_(width > 1) {}

  piece whole() const {
    const std::size_t rest = grain_ == 1 ? 0 : size_ % grain_;
    return {0, size_, (grain_ == 1 ? size_ : size_ / grain_) + (rest != 0 ? 1 : 0)};
  }

  // Whether other threads may take part.
  bool is_shared() const { return is_shared_; }

  static bool is_divisible(const piece& p) { return p.count > 1; }

  // Returns the right half; `p` becomes the left half, whose chunks are equally long.
  piece halve(piece& p) const { return split_at(p, p.count / 2); }

  // Like halve, with as much as possible on the left.
  piece cut_tail(piece& p) const { return split_at(p, p.count > 2 ? p.count - 2 : 1); }

  // Drops what lies before `begin` from a piece with equal chunks.
  void resume(piece& p, std::size_t begin) const {
    p.begin = begin;
    p.count = (p.end - begin) / grain_;
  }

  // The lengths of the chunks that one runner cuts.
  class lengths {
   public:
    explicit lengths(const even_chunks& chunks) : grain_(chunks.grain_), length_(0) {}
    // Starts a piece, whose chunks are equally long.
    void begin(const piece& p, std::size_t) { length_ = p.count > 1 ? grain_ : p.end - p.begin; }
    // The length of the chunk at a position of the piece.
    std::size_t next(std::size_t) const { return length_; }

   private:
    const std::size_t grain_;
    std::size_t length_;
  };

 private:
  piece split_at(piece& p, std::size_t left) const {
    const std::size_t middle = p.begin + (p.count == 2 ? (p.end - p.begin) / 2 : left * grain_);
    const piece right = {middle, p.end, p.count - left};
    p.end = middle;
    p.count = left;
    return right;
  }

  const std::size_t size_;
  const std::size_t grain_;
  const bool is_shared_;
};

// The chunks of auto_partitioner: each is a fixed fraction of what the runner still has, but no
// smaller than half the grain size. A runner starts with smaller fractions and doubles them
// kFirstSteps times, because its first chunks may be all the work there is.
class shrinking_chunks {
 public:
  struct piece {
    std::size_t begin;
    std::size_t end;
  };

  shrinking_chunks(std::size_t size, std::size_t grain, unsigned width)
      : size_(size), grain_(grain), shift_(fraction_shift(width)), is_shared_(width > 1) {}

  static constexpr unsigned kFirstSteps = 4;

  // The fraction as a shift: it cuts the rest into 4 to 8 times as many chunks as there are
  // threads.
  static unsigned fraction_shift(unsigned width) {
    unsigned shift = 2;
    while ((1U << (shift - 2)) < width) ++shift;
    return shift;
  }

  piece whole() const { return {0, size_}; }
  bool is_shared() const { return is_shared_; }
  bool is_divisible(const piece& p) const { return p.end - p.begin > grain_; }

  // Returns the right half; `p` becomes the left half.
  piece halve(piece& p) const {
    const std::size_t middle = p.begin + (p.end - p.begin) / 2;
    const piece right = {middle, p.end};
    p.end = middle;
    return right;
  }

  // Cuts nothing: a loop that one thread runs alone need not be cut.
  static piece cut_tail(piece& p) { return {p.end, p.end}; }

  static void resume(piece& p, std::size_t begin) { p.begin = begin; }

  class lengths {
   public:
    explicit lengths(const shrinking_chunks& chunks)
        : grain_(chunks.grain_), shift_(chunks.shift_ + kFirstSteps), last_shift_(chunks.shift_) {}

    // Starts a piece. `all_end` is the end of all that the runner still has, the exposed part
    // included.
    void begin(const piece& p, std::size_t all_end) {
      end_ = p.end;
      all_end_ = all_end;
    }

    // The length of the chunk at a position of the piece.
    std::size_t next(std::size_t position) {
      const std::size_t part = (all_end_ - position) >> shift_;
      if (shift_ != last_shift_) --shift_;
      const std::size_t length = part < grain_ ? grain_ : part;
      const std::size_t rest = end_ - position;
      // A remainder that would be too short joins the last chunk.
      return rest <= length || rest - length < grain_ - grain_ / 2 ? rest : length;
    }

   private:
    const std::size_t grain_;
    unsigned shift_;
    const unsigned last_shift_;
    std::size_t end_ = 0;
    std::size_t all_end_ = 0;
  };

 private:
  const std::size_t size_;
  const std::size_t grain_;
  const unsigned shift_;
  const bool is_shared_;
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
  using piece = typename Chunks::piece;

  template <typename Partitioner>
  chunk_loop(thread_data& thread, const blocked_range<Value>& range, const Partitioner&)
      : chunks_(range.size(), range.grainsize() == 0 ? 1 : range.grainsize(), arena_width(thread)),
        first_(range.begin()),
        grain_(range.grainsize()) {}

  piece whole() const { return chunks_.whole(); }

  // Calls the body for all of `p`, except what thieves take. Throws what the body and copies of
  // Value throw, and bad_alloc.
  template <typename Runner>
  void run(Runner& runner, piece p) const {
    typename Chunks::lengths lengths(chunks_);
    std::atomic<std::size_t> own_limit(0);  // the limit while nothing is exposed
    piece tail = p;                         // cut off a loop that one thread runs alone
    bool has_tail = false;
    for (;;) {
      const std::size_t all_end = p.end;
      const std::atomic<std::size_t>* limit = &own_limit;
      if (chunks_.is_divisible(p)) {
        if (chunks_.is_shared()) {
          piece right = chunks_.halve(p);
          limit = &runner.expose(std::move(right), p.end).limit;
        } else {
          tail = chunks_.cut_tail(p);
          has_tail = tail.begin != tail.end;
        }
      }
      own_limit.store(p.end, std::memory_order_relaxed);  // relaxed: no other thread reads it
      lengths.begin(p, all_end);
      const std::size_t position = run_chunks(runner, p.begin, lengths, *limit);
      if (CORBEL_UNLIKELY(position < p.end)) {
        if (runner.is_cancelled()) return;
        runner.forget_exposed();
        chunks_.resume(p, position);
      } else if (has_tail) {
        p = tail;
        has_tail = false;
      } else {
        const typename Runner::owned_task t = runner.take_back();
        if (!t) return;
        p = t->piece;
      }
    }
  }

 private:
  // Calls the body for chunk after chunk, up to the limit, which a thief may set to 0, or until the
  // group is cancelled. Returns the position that it reached.
  template <typename Runner>
  std::size_t run_chunks(Runner& runner, std::size_t position, typename Chunks::lengths& lengths,
                         const std::atomic<std::size_t>& limit) const {
    Value at = value_at(first_, position, std::is_integral<Value>());
    auto& body = runner.body();
    context_node& group = runner.group();
    thread_data& thread = runner.thread();
    const std::atomic<std::uint64_t>& cancellations = *thread.cancellations;
    // relaxed: a thief's 0 is a hint that there is something to expose; no data depends on it
    while (position < limit.load(std::memory_order_relaxed)) {
      // Like is_cancelled_between_chunks, with the pointer kept in a register.
      if (CORBEL_UNLIKELY(!group.is_current(cancellations)) && end_chunk(thread, group)) break;
      const std::size_t length = lengths.next(position);
      const Value end = value_at(at, length, std::is_integral<Value>());
#if defined(__GNUC__)
      // A chunk is not empty: the body's loop need not test that.
      if (std::is_scalar<Value>::value && !(at < end)) __builtin_unreachable();
#endif
      blocked_range<Value> chunk(at, end, grain_);
      body(chunk);
      at = end;
      position += length;
    }
    return position;
  }

  const Chunks chunks_;
  const Value first_;
  const std::size_t grain_;
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
