// SPDX-License-Identifier: Apache-2.0
// Calls a function for each item of a sequence, in parallel; the function may add items. C++11
// upwards; parallel_for_each of the oneTBB specification.
//
// The rest of a sequence is offered to other threads whenever this thread's deque is empty, as in
// the lazy binary splitting of A. Tzannes, G. Caragea, R. Barua and U. Vishkin, "Lazy Binary-
// Splitting: A Run-Time Adaptive Work-Stealing Scheduler" (PPoPP 2010): with nobody helping there
// are few tasks, and with helpers as many as are asked for, down to one item.
#ifndef CORBEL_PARALLEL_FOR_EACH_HPP
#define CORBEL_PARALLEL_FOR_EACH_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/late.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

template <typename Item>
class feeder;

namespace detail {

// An item that a body has added.
template <typename Item>
struct fed_task : task_base {
  feeder<Item>& owner;
  late<Item> item;

  template <typename Source>
  fed_task(function execute, feeder<Item>& f, Source&& source) : task_base(execute), owner(f) {
    item.make(std::forward<Source>(source));
  }
  ~fed_task() { item.destroy(); }
};

}  // namespace detail

// What a body gets that may add items: body(item, feeder). The items are handled before
// parallel_for_each returns. To be used only while the body runs, by any thread.
template <typename Item>
class feeder {
 public:
  // Adds a copy of the item. Throws bad_alloc, and what the copy throws; nothing is added then.
  void add(const Item& item) { add_from(item); }
  void add(Item&& item) { add_from(std::move(item)); }

  feeder(const feeder&) = delete;
  feeder& operator=(const feeder&) = delete;

 protected:
  feeder(detail::context_node& group, detail::task_base::function execute)
      : group_(group), execute_(execute) {}
  ~feeder() = default;

  detail::context_node& group_;
  detail::wait_count pending_;

 private:
  template <typename Source>
  void add_from(Source&& item) {
    detail::worker& w = detail::current_worker();
    using fed = detail::fed_task<Item>;
    fed* const t = detail::new_task<fed>(w, execute_, *this, std::forward<Source>(item));
    detail::spawn_new(w, group_, pending_, t);
  }

  const detail::task_base::function execute_;
};

namespace detail {

template <int N>
struct preference : preference<N - 1> {};
template <>
struct preference<0> {};

// body(item, feeder) or body(item); where the body takes neither the item as it is, that is as an
// rvalue, it gets an lvalue.
template <typename Body, typename Item, typename Feeder>
inline auto call_with_item(const Body& body, Item&& item, Feeder& f, preference<3>)
    -> decltype(static_cast<void>(detail::call(body, std::forward<Item>(item), f))) {
  detail::call(body, std::forward<Item>(item), f);
}
template <typename Body, typename Item, typename Feeder>
inline auto call_with_item(const Body& body, Item&& item, Feeder&, preference<2>)
    -> decltype(static_cast<void>(detail::call(body, std::forward<Item>(item)))) {
  detail::call(body, std::forward<Item>(item));
}
template <typename Body, typename Item, typename Feeder>
inline auto call_with_item(const Body& body, Item&& item, Feeder& f, preference<1>)
    -> decltype(static_cast<void>(detail::call(body, item, f))) {
  detail::call(body, item, f);
}
template <typename Body, typename Item, typename Feeder>
inline void call_with_item(const Body& body, Item&& item, Feeder&, preference<0>) {
  detail::call(body, item);
}

template <typename Body, typename Argument, typename Feeder, typename = void>
struct takes_feeder_with : std::false_type {};
template <typename Body, typename Argument, typename Feeder>
struct takes_feeder_with<Body, Argument, Feeder,
                         decltype(static_cast<void>(
                             detail::call(std::declval<const Body&>(), std::declval<Argument>(),
                                          std::declval<Feeder&>())))> : std::true_type {};

// Whether the body takes a feeder with an item, or with what the sequence gives.
template <typename Body, typename Item, typename Given>
struct takes_feeder
    : std::integral_constant<bool, takes_feeder_with<Body, Item, feeder<Item>>::value ||
                                       takes_feeder_with<Body, Item&, feeder<Item>>::value ||
                                       takes_feeder_with<Body, Given, feeder<Item>>::value> {};

// What a body's feeder takes: what its function says, else the values of the sequence.
template <typename T>
struct fed_type {
  using type = T;
};
template <typename Value, typename R, typename C, typename A, typename Item>
fed_type<Item> fed_to(R (C::*)(A, feeder<Item>&) const);
template <typename Value, typename R, typename A, typename Item>
fed_type<Item> fed_to(R (*)(A, feeder<Item>&));
#if defined(__cpp_noexcept_function_type)
template <typename Value, typename R, typename C, typename A, typename Item>
fed_type<Item> fed_to(R (C::*)(A, feeder<Item>&) const noexcept);
template <typename Value, typename R, typename A, typename Item>
fed_type<Item> fed_to(R (*)(A, feeder<Item>&) noexcept);
#endif
template <typename Value>
fed_type<Value> fed_to(...);

template <typename Value, typename Body>
auto find_fed(int) -> decltype(fed_to<Value>(&Body::operator()));
template <typename Value, typename Body>
auto find_fed(long) -> decltype(fed_to<Value>(std::declval<const Body&>()));
template <typename Value, typename Body>
using fed_item = typename decltype(find_fed<Value, Body>(0))::type;

// One call of parallel_for_each.
template <typename Value, typename Item, typename Body>
class for_each_call : public feeder<Item> {
 public:
  // A body that takes no feeder need not take the items of one either.
  for_each_call(context_node& group, const Body& body, std::true_type /*takes_feeder*/)
      : feeder<Item>(group, &run_fed), body_(body) {}
  for_each_call(context_node& group, const Body& body, std::false_type)
      : feeder<Item>(group, nullptr), body_(body) {}

  // The iterators' class decides how the sequence is handed out. Do not throw, but for bad_alloc
  // and what copying iterators throws.
  template <typename Iterator>
  void run(worker& w, Iterator first, Iterator last, std::random_access_iterator_tag) {
    guarded([&] { run_span(w, first, last); });
    this->pending_.wait(w);
  }
  template <typename Iterator>
  void run(worker& w, Iterator first, Iterator last, std::forward_iterator_tag) {
    guarded([&] { run_walk(w, first, last, 0); });
    this->pending_.wait(w);
  }
  template <typename Iterator>
  void run(worker& w, Iterator first, Iterator last, std::input_iterator_tag) {
    input<Iterator> source{first, last};
    guarded([&] { run_input(w, source, 0); });
    this->pending_.wait(w);
  }

 private:
  using group_feeder = feeder<Item>;

  template <typename F>
  void guarded(const F& f) {
    call_captured(this->group_, f);
  }

  template <typename Argument>
  void call(Argument&& argument) {
    call_with_item(body_, std::forward<Argument>(argument), static_cast<group_feeder&>(*this),
                   preference<3>());
  }

  // A part of the call is the arguments of one of the run_ functions below.
  template <typename Arguments>
  void leave(worker& w, const Arguments& arguments) {
    detail::offer(w, this->group_, this->pending_, *this, arguments);
  }

  static task_base* run_fed(task_base* self, worker& w, bool cancelled) {
    fed_task<Item>* const task = static_cast<fed_task<Item>*>(self);
    for_each_call& call = static_cast<for_each_call&>(task->owner);
    if (!cancelled) call.guarded([&] { call.call(std::move(task->item.get())); });
    delete_task(w, task);
    call.pending_.release(w);
    return nullptr;
  }

  // So many at a time: a 16th of those that have gone before. At first one by one, because there
  // may be few and each may be long.
  static std::size_t next_length(std::size_t done, std::size_t most) {
    const std::size_t length = 1 + done / 16;
    return length < most ? length : most;
  }

  // ---- random access: the second half of what is left

  template <typename Iterator>
  struct span {
    Iterator first, last;
    void run(worker& w, for_each_call& call) { call.run_span(w, first, last); }
  };

  template <typename Iterator>
  void run_span(worker& w, Iterator first, Iterator last) {
    std::size_t done = 0;
    while (first != last) {
      if (w.is_cancelled(this->group_)) return;
      auto left = last - first;
      if (left > 1 && w.tasks->seems_empty()) {
        const Iterator middle = first + left / 2;
        leave(w, span<Iterator>{middle, last});
        last = middle;
        left = last - first;
      }
      const std::size_t length = next_length(done, 16);
      done += length;
      const Iterator end = static_cast<std::size_t>(left) <= length
                               ? last
                               : first + static_cast<decltype(left)>(length);
      for (; first != end; ++first) call(*first);
    }
  }

  // ---- forward: who takes the next items leaves the way behind them to others

  template <typename Iterator>
  struct walk {
    Iterator first, last;
    std::size_t done;
    void run(worker& w, for_each_call& call) { call.run_walk(w, first, last, done); }
  };

  template <typename Iterator>
  void run_walk(worker& w, Iterator first, Iterator last, std::size_t done) {
    if (first == last) return;
    const std::size_t length = next_length(done, 64);
    Iterator end = first;
    for (std::size_t i = 0; i < length && end != last; ++i) ++end;
    if (end != last) leave(w, walk<Iterator>{end, last, done + length});
    for (; first != end; ++first) {
      if (w.is_cancelled(this->group_)) return;
      call(*first);
    }
  }

  // ---- input: the same, with the items taken out of the sequence

  template <typename Iterator>
  struct input {
    Iterator next, last;
  };

  template <typename Iterator>
  struct input_walk {
    input<Iterator>* source;
    std::size_t done;
    void run(worker& w, for_each_call& call) { call.run_input(w, *source, done); }
  };

  struct items {
    // Some 4 KiB of the stack.
    static constexpr std::size_t kMost = sizeof(Value) >= 4096 ? 1
                                         : sizeof(Value) < 64  ? 64
                                                               : 4096 / sizeof(Value);
    late<Value> item[kMost];
    std::size_t length = 0;

    items() = default;
    items(const items&) = delete;
    items& operator=(const items&) = delete;
    ~items() {
      while (length != 0) item[--length].destroy();
    }
  };

  template <typename Iterator>
  void run_input(worker& w, input<Iterator>& source, std::size_t done) {
    items taken;
    const std::size_t length = next_length(done, items::kMost);
    for (; taken.length < length && source.next != source.last; ++source.next) {
      taken.item[taken.length].make(*source.next);
      ++taken.length;
    }
    // Who gets this task is from now on the only one who touches the iterators.
    if (taken.length == length) leave(w, input_walk<Iterator>{&source, done + length});
    for (std::size_t i = 0; i < taken.length; ++i) {
      if (w.is_cancelled(this->group_)) return;
      call(std::move(taken.item[i].get()));
    }
  }

  const Body& body_;
};

// The category that says what an iterator can do. Since C++20 that of its traits may be input for
// the sole reason that its reference is no true one, as that of a view is.
#if defined(__cpp_lib_concepts) && __cpp_lib_concepts >= 202002L
template <typename Iterator>
using category_of = std::conditional_t<
    std::random_access_iterator<Iterator>, std::random_access_iterator_tag,
    std::conditional_t<std::forward_iterator<Iterator>, std::forward_iterator_tag,
                       typename std::iterator_traits<Iterator>::iterator_category>>;
#else
template <typename Iterator>
using category_of = typename std::iterator_traits<Iterator>::iterator_category;
#endif

template <typename Iterator, typename Body>
inline void for_each_in(worker& w, context_node& group, Iterator first, Iterator last,
                        const Body& body) {
  using value = typename std::remove_cv<typename std::iterator_traits<Iterator>::value_type>::type;
  if (first == last) return;
  using item = fed_item<value, Body>;
  using given = typename std::conditional<
      std::is_base_of<std::forward_iterator_tag, category_of<Iterator>>::value, decltype(*first),
      value&>::type;
  constexpr bool feeds = takes_feeder<Body, item, given>::value;
  for_each_call<value, item, Body> call(group, body, std::integral_constant<bool, feeds>());
  call.run(w, first, last, category_of<Iterator>());
}

// Of the type that T&& is deduced with.
template <typename T>
using if_rvalue = typename std::enable_if<!std::is_lvalue_reference<T>::value>::type;

#if CORBEL_HAS_CONCEPTS
template <typename Body, typename Item, typename Value>
concept is_item_body = is_called_with<Body, Item> || is_called_with<Body, Item&> ||
                       is_called_with<Body, Item, feeder<fed_item<Value, Body>>&> ||
                       is_called_with<Body, Item&, feeder<fed_item<Value, Body>>&>;

template <typename Iterator>
using value_of = std::remove_cv_t<typename std::iterator_traits<Iterator>::value_type>;

template <typename Iterator, typename Body>
concept is_handled_by =
    requires(Iterator it) {
      static_cast<bool>(it == it);
      ++it;
      *it;
      typename value_of<Iterator>;
    } && (is_item_body<Body, decltype(*std::declval<Iterator&>()), value_of<Iterator>> ||
          is_item_body<Body, value_of<Iterator>, value_of<Iterator>>);

namespace adl {
using std::begin;
template <typename Container>
using iterator_of = decltype(begin(std::declval<Container>()));
}  // namespace adl
using adl::iterator_of;
#endif

}  // namespace detail

// Calls body(item) or body(item, feeder) for each item of [first, last) and each that is added
// through the feeder<T>&, in any order and perhaps at the same time, and returns when all have been
// handled. T is what the body's function says, or the iterators' value type where that is a
// template or overloaded. What the calls return is dropped; the body may be a pointer to a member
// function of the items or of what they point to. The body is called as const from several threads.
//
// A body gets what the iterator gives, `*it`; the items of iterators that are no more than input
// iterators, and those added, are copied or moved first and passed as rvalues, or as lvalues if the
// body takes no rvalue. Only one thread at a time uses input iterators. Items may be move-only, but
// for add(const T&).
//
// If the body or a copy throws, no more items are begun, and the exception is thrown here. May be
// called from any thread.
template <typename InputIterator, typename Body>
CORBEL_REQUIRES(detail::is_handled_by<InputIterator, Body>)
inline void parallel_for_each(InputIterator first, InputIterator last, const Body& body) {
  detail::call_in_group([&](detail::worker& w, detail::context_node& group) {
    detail::for_each_in(w, group, first, last, body);
  });
}

// The same in a context of the program's: an exception cancels it, and nothing is begun any more
// when it is cancelled.
template <typename InputIterator, typename Body>
CORBEL_REQUIRES(detail::is_handled_by<InputIterator, Body>)
inline void parallel_for_each(InputIterator first, InputIterator last, const Body& body,
                              task_group_context& context) {
  detail::call_in_group(context, [&](detail::worker& w, detail::context_node& group) {
    detail::for_each_in(w, group, first, last, body);
  });
}

// For each item from begin(items) to end(items). (One overload for each kind of argument: were
// there two for one of them, the requirements would be looked at for both, and a body that is a
// template be compiled for items that are const.)
template <typename Container, typename Body>
CORBEL_REQUIRES(detail::is_handled_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container& items, const Body& body) {
  using std::begin;
  using std::end;
  corbel::parallel_for_each(begin(items), end(items), body);
}
template <typename Container, typename Body, typename = detail::if_rvalue<Container>>
CORBEL_REQUIRES(detail::is_handled_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container&& items, const Body& body) {
  corbel::parallel_for_each(items, body);
}
template <typename Container, typename Body>
CORBEL_REQUIRES(detail::is_handled_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container& items, const Body& body, task_group_context& context) {
  using std::begin;
  using std::end;
  corbel::parallel_for_each(begin(items), end(items), body, context);
}
template <typename Container, typename Body, typename = detail::if_rvalue<Container>>
CORBEL_REQUIRES(detail::is_handled_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container&& items, const Body& body, task_group_context& context) {
  corbel::parallel_for_each(items, body, context);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_FOR_EACH_HPP
