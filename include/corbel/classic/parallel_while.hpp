// SPDX-License-Identifier: Apache-2.0
// parallel_while of early TBB: parallel_for_each over a stream whose end is not known beforehand.
// C++11 and later. New programs use parallel_for_each with a feeder.
#ifndef CORBEL_CLASSIC_PARALLEL_WHILE_HPP
#define CORBEL_CLASSIC_PARALLEL_WHILE_HPP

#include <atomic>
#include <cstddef>
#include <iterator>
#include <utility>

#include <corbel/detail/config.hpp>
#include <corbel/parallel_for_each.hpp>

namespace corbel {

// Body has a type argument_type, which can be constructed without arguments, copied and assigned,
// and is called as body(item) const, item being an argument_type&.
template <typename Body>
class parallel_while {
 public:
  using value_type = typename Body::argument_type;

  parallel_while() = default;
  parallel_while(const parallel_while&) = delete;
  parallel_while& operator=(const parallel_while&) = delete;

  // Takes items from the stream until stream.pop_if_present(item), item being a value_type&,
  // returns false, and calls body(item) for each of them and for each added item, in any order and
  // perhaps at the same time. Returns when all calls have returned. Only one thread at a time uses
  // the stream. If the body or the stream throws, no further call begins, and the exception is
  // thrown here. bad_alloc is treated in the same way. Only one run of an object at a time.
  template <typename Stream>
  void run(Stream& stream, const Body& body) {
    source<Stream> items(stream);
    corbel::parallel_for_each(stream_iterator<Stream>(&items), stream_iterator<Stream>(),
                              item_body{*this, body});
    feeder_.store(nullptr, std::memory_order_relaxed);  // relaxed: only this thread is left
  }

  // Adds an item to the run that has called the body which calls this function. Throws bad_alloc
  // and what copying the item throws; the item is not added then.
  void add(const value_type& item) {
    // relaxed: this thread has stored the same value before it called the body
    feeder<value_type>* const to = feeder_.load(std::memory_order_relaxed);
    CORBEL_ASSERT(to != nullptr, "only a body that is being run may add an item");
    to->add(item);
  }

 private:
  // The stream and its next item.
  template <typename Stream>
  struct source {
    explicit source(Stream& s) : stream(s), has_item(stream.pop_if_present(item)) {}
    Stream& stream;
    value_type item;
    bool has_item;
  };

  // An input iterator; without a source, the end.
  template <typename Stream>
  class stream_iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = typename Body::argument_type;
    using difference_type = std::ptrdiff_t;
    using pointer = value_type*;
    using reference = value_type&&;

    stream_iterator() = default;
    explicit stream_iterator(source<Stream>* from) : from_(from) {}

    reference operator*() const { return std::move(from_->item); }
    stream_iterator& operator++() {
      from_->has_item = from_->stream.pop_if_present(from_->item);
      return *this;
    }
    stream_iterator operator++(int) {
      stream_iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const stream_iterator& a, const stream_iterator& b) {
      return a.is_at_end() == b.is_at_end();
    }
    friend bool operator!=(const stream_iterator& a, const stream_iterator& b) { return !(a == b); }

   private:
    bool is_at_end() const { return from_ == nullptr || !from_->has_item; }
    source<Stream>* from_ = nullptr;
  };

  struct item_body {
    void operator()(value_type& item, feeder<value_type>& to) const {
      owner.feeder_.store(&to, std::memory_order_relaxed);  // relaxed: for this thread itself
      body(item);
    }
    parallel_while& owner;
    const Body& body;
  };

  std::atomic<feeder<value_type>*> feeder_{nullptr};  // of the run, once a body has been called
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_PARALLEL_WHILE_HPP
