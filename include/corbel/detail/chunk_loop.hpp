// SPDX-License-Identifier: Apache-2.0
// Loops over numbered elements: chunks are cut from a piece by arithmetic, without a call for each.
#ifndef CORBEL_DETAIL_CHUNK_LOOP_HPP
#define CORBEL_DETAIL_CHUNK_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <corbel/detail/config.hpp>
#include <corbel/detail/context_node.hpp>

namespace corbel {
namespace detail {

// Chunks of simple_partitioner: between half the grain, rounded up, and the grain.
//
// All chunks are as long as the grain but for the last two, which share what is left. A piece is
// known with the number of its chunks, so that only the beginning of a loop divides. Its length is
// a multiple of the grain unless it contains those two or is one of them.
class even_chunks {
 public:
  struct piece {
    std::size_t begin;
    std::size_t end;
    std::size_t count;  // of chunks
  };

  even_chunks(std::size_t size, std::size_t grain, unsigned width)
      : size_(size), grain_(grain), shares_(width > 1) {}

  piece whole() const {
    const std::size_t rest = grain_ == 1 ? 0 : size_ % grain_;
    return {0, size_, (grain_ == 1 ? size_ : size_ / grain_) + (rest != 0 ? 1 : 0)};
  }

  // Whether others may take part.
  bool shares() const { return shares_; }

  static bool is_divisible(const piece& p) { return p.count > 1; }

  // The right half; `p` becomes the left one, all of whose chunks are equally long.
  piece halve(piece& p) const { return split_at(p, p.count / 2); }

  // As halve, with as much as possible on the left.
  piece cut_tail(piece& p) const { return split_at(p, p.count > 2 ? p.count - 2 : 1); }

  // What is left of a piece with equal chunks.
  void resume(piece& p, std::size_t begin) const {
    p.begin = begin;
    p.count = (p.end - begin) / grain_;
  }

  // The lengths of a strand's chunks, one piece after the other.
  class lengths {
   public:
    explicit lengths(const even_chunks& chunks) : grain_(chunks.grain_), length_(0) {}
    // For a piece with equal chunks.
    void begin(const piece& p, std::size_t) { length_ = p.count > 1 ? grain_ : p.end - p.begin; }
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
  const bool shares_;
};

// Chunks of auto_partitioner: each is a certain part of what the strand still has, but no smaller
// than half the grain. A strand begins with chunks that are smaller still, each twice as large a
// part as the one before, since its first ones may be all the work there is.
class shrinking_chunks {
 public:
  struct piece {
    std::size_t begin;
    std::size_t end;
  };

  shrinking_chunks(std::size_t size, std::size_t grain, unsigned width)
      : size_(size), grain_(grain), shift_(part_of_rest(width)), shares_(width > 1) {}

  // How often a strand doubles the part.
  static constexpr unsigned kFirstSteps = 4;

  // With so many bits shifted out, the rest is cut into 4 times as many chunks as there are
  // threads, or up to twice that.
  static unsigned part_of_rest(unsigned width) {
    unsigned shift = 2;
    while ((1U << (shift - 2)) < width) ++shift;
    return shift;
  }

  piece whole() const { return {0, size_}; }
  bool shares() const { return shares_; }
  bool is_divisible(const piece& p) const { return p.end - p.begin > grain_; }

  piece halve(piece& p) const {
    const std::size_t middle = p.begin + (p.end - p.begin) / 2;
    const piece right = {middle, p.end};
    p.end = middle;
    return right;
  }

  // There is no need to cut where nobody takes part.
  static piece cut_tail(piece& p) { return {p.end, p.end}; }

  static void resume(piece& p, std::size_t begin) { p.begin = begin; }

  class lengths {
   public:
    explicit lengths(const shrinking_chunks& chunks)
        : grain_(chunks.grain_), shift_(chunks.shift_ + kFirstSteps), last_shift_(chunks.shift_) {}

    // `all_end`: where that ends which the strand still has, the exposed part included.
    void begin(const piece& p, std::size_t all_end) {
      end_ = p.end;
      all_end_ = all_end;
    }

    std::size_t next(std::size_t position) {
      const std::size_t part = (all_end_ - position) >> shift_;
      if (shift_ != last_shift_) --shift_;
      const std::size_t length = part < grain_ ? grain_ : part;
      const std::size_t rest = end_ - position;
      // What would be too short goes with the last one.
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
  const bool shares_;
};

// `Elements` has a cursor, which gives chunk after chunk to a body.
template <typename Chunks, typename Elements>
class chunk_space {
 public:
  using piece = typename Chunks::piece;

  chunk_space(const Chunks& chunks, const Elements& elements)
      : chunks_(chunks), elements_(elements) {}

  piece whole() const { return chunks_.whole(); }

  template <typename Strand>
  void run(Strand& s, piece p) const {
    typename Chunks::lengths lengths(chunks_);
    std::atomic<std::size_t> own_limit(0);  // where nothing is exposed
    piece aside = p;                        // the tail, where nobody takes part
    bool has_aside = false;
    for (;;) {
      const std::size_t all_end = p.end;
      const std::atomic<std::size_t>* limit = &own_limit;
      if (chunks_.is_divisible(p)) {
        if (chunks_.shares()) {
          piece right = chunks_.halve(p);
          limit = &s.expose(std::move(right), p.end).limit;
        } else {
          aside = chunks_.cut_tail(p);
          has_aside = aside.begin != aside.end;
        }
      }
      own_limit.store(p.end, std::memory_order_relaxed);  // relaxed: nobody else reads it
      lengths.begin(p, all_end);
      const std::size_t position = walk(s, p.begin, lengths, *limit);
      if (CORBEL_UNLIKELY(position < p.end)) {
        if (s.is_cancelled()) return;
        s.forget_exposed();
        chunks_.resume(p, position);
      } else if (has_aside) {
        p = aside;
        has_aside = false;
      } else {
        const typename Strand::owned t = s.take_back();
        if (!t) return;
        p = t->piece;
      }
    }
  }

 private:
  // The inner loop: up to the limit, which a thief may set to 0, or until it is cancelled. Where it
  // stopped.
  template <typename Strand>
  std::size_t walk(Strand& s, std::size_t position, typename Chunks::lengths& lengths,
                   const std::atomic<std::size_t>& limit) const {
    auto& body = s.body();
    context_node& group = s.group();
    const std::atomic<std::uint64_t>& cancellations = *s.thread().cancellations;
    typename Elements::cursor elements(elements_, position);
    // relaxed: only a hint that there is something else to do
    while (position < limit.load(std::memory_order_relaxed)) {
      if (CORBEL_UNLIKELY(!group.is_current(cancellations)) && find_cancelled(group)) break;
      const std::size_t length = lengths.next(position);
      elements.give(body, length);
      position += length;
    }
    return position;
  }

  const Chunks chunks_;
  const Elements elements_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_CHUNK_LOOP_HPP
