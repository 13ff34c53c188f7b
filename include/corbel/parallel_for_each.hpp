// SPDX-License-Identifier: Apache-2.0
// Calls a function for each item of a sequence, in parallel; the function may add items. C++11 and
// later. Follows the oneTBB specification 1.4 ([algorithms.parallel_for_each]).
//
// Items that can be numbered are processed by a loop, see detail/loop.hpp. Where the sequence must
// be walked, one thread at a time takes the next items and spawns the rest of the sequence; the
// items that it has taken are a loop.
#ifndef CORBEL_PARALLEL_FOR_EACH_HPP
#define CORBEL_PARALLEL_FOR_EACH_HPP

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/concepts.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/manual_lifetime.hpp>
#include <corbel/detail/range_loop.hpp>
#include <corbel/detail/trace.hpp>
#include <corbel/partitioner.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

template <typename Item>
class feeder;

namespace detail {

// An item that a body has added.
template <typename Item>
struct fed_task : task_base {
  feeder<Item>& owner;
  manual_lifetime<Item> item;

  template <typename Source>
  fed_task(function execute, feeder<Item>& f, Source&& source) : task_base(execute), owner(f) {
    item.make(std::forward<Source>(source));
  }
  ~fed_task() { item.destroy(); }
};

}  // namespace detail

// Adds items to the running loop; a body that takes one is called as body(item, feeder). The added
// items are processed before parallel_for_each returns. [algorithms.parallel_for_each.feeder]. Any
// thread may use it while the body runs.
template <typename Item>
class feeder {
 public:
  // Adds a copy of the item. Strong guarantee; throws bad_alloc and what the copy throws.
  void add(const Item& item) { add_from(item); }
  // Adds the item by moving it. Strong guarantee, if the move has it; throws bad_alloc and what the
  // move throws.
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
    detail::thread_data& thread = detail::current_thread();
    using fed = detail::fed_task<Item>;
    fed* const t = detail::new_task<fed>(thread, execute_, *this, std::forward<Source>(item));
    detail::spawn_new(thread, group_, pending_, t);
  }

  const detail::task_base::function execute_;
};

namespace detail {

template <int N>
struct preference : preference<N - 1> {};
template <>
struct preference<0> {};

// Calls body(item, feeder) or body(item). Forwards the item, or passes it as an lvalue if the body
// takes no rvalue.
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

// Whether the body takes a feeder with an item, or with what dereferencing the iterator gives.
template <typename Body, typename Item, typename Given>
struct takes_feeder
    : std::integral_constant<bool, takes_feeder_with<Body, Item, feeder<Item>>::value ||
                                       takes_feeder_with<Body, Item&, feeder<Item>>::value ||
                                       takes_feeder_with<Body, Given, feeder<Item>>::value> {};

// The item type of a body's feeder: the one in its signature, else the value type of the sequence.
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

// Whether an iterator has not reached the end. Before C++20 the requirements of iterators that the
// program meets by == alone do not give !=.
template <typename Iterator>
inline bool is_before(const Iterator& it, const Iterator& last) {
  return !static_cast<bool>(it == last);
}

// One call of parallel_for_each.
template <typename Value, typename Item, typename Body>
class for_each_call : public feeder<Item> {
 public:
  // A body that takes no feeder need not accept added items, so run_fed is not instantiated.
  for_each_call(context_node& group, const Body& body, std::true_type /*takes_feeder*/)
      : feeder<Item>(group, &run_fed), body_(body) {}
  for_each_call(context_node& group, const Body& body, std::false_type)
      : feeder<Item>(group, nullptr), body_(body) {}

  // Processes the sequence; the iterator category decides how. The group keeps what the body
  // throws. Throws what copying an iterator throws.
  template <typename Iterator>
  void run(thread_data& thread, Iterator first, Iterator last, std::random_access_iterator_tag) {
    guarded([&] { run_span(thread, first, last); });
    this->pending_.wait(thread);
  }
  template <typename Iterator>
  void run(thread_data& thread, Iterator first, Iterator last, std::forward_iterator_tag) {
    guarded([&] { run_walk(thread, first, last, 0); });
    this->pending_.wait(thread);
  }
  template <typename Iterator>
  void run(thread_data& thread, Iterator first, Iterator last, std::input_iterator_tag) {
    input<Iterator> source{first, last};
    guarded([&] { run_input(thread, source, 0); });
    this->pending_.wait(thread);
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

  // Spawns a part of the call: the arguments of one of the run_ functions below.
  template <typename Arguments>
  void spawn_rest(thread_data& thread, const Arguments& arguments) {
    detail::spawn_part(thread, this->group_, this->pending_, *this, arguments);
  }

  static task_base* run_fed(task_base* self, thread_data& thread, bool cancelled) {
    fed_task<Item>* const task = static_cast<fed_task<Item>*>(self);
    for_each_call& call = static_cast<for_each_call&>(task->owner);
    if (!cancelled) call.guarded([&] { call.call(std::move(task->item.get())); });
    delete_task(thread, task);
    call.pending_.release(thread);
    return nullptr;
  }

  // Calls the body for item(0), item(1), ..., item(count - 1): a loop with chunks of one item, from
  // which other threads can take even while the body runs.
  template <typename ItemAt>
  void run_items(thread_data& thread, std::size_t count, const ItemAt& item) {
    if (count == 0) return;
    const auto body = [&](const blocked_range<std::size_t>& range) {
      for (std::size_t i = range.begin(); i != range.end(); ++i) call(item(i));
    };
    detail::run_loop<copy_body, simple_partitioner>(
        thread, this->group_, blocked_range<std::size_t>(0, count), body, simple_partitioner());
  }

  template <typename Iterator>
  void run_span(thread_data& thread, Iterator first, Iterator last) {
    using difference = decltype(last - first);
    run_items(
        thread, static_cast<std::size_t>(last - first),
        [&](std::size_t i) -> decltype(*first) { return *(first + static_cast<difference>(i)); });
  }

  // How many items a thread takes from a sequence that it must walk, if `done` are taken already.
  // It spawns the rest of the sequence before it runs them. The number grows, so that many threads
  // soon have work and a walk costs little for each item.
  static std::size_t next_length(std::size_t done, std::size_t max) {
    const std::size_t length = 1 + done / 2;
    return length < max ? length : max;
  }
  // At most about 4 KiB of stack.
  template <typename T>
  static constexpr std::size_t max_length() {
    return sizeof(T) >= 4096 ? 1 : sizeof(T) < 64 ? 64 : 4096 / sizeof(T);
  }

  // Up to kMax objects of type T.
  template <typename T>
  struct batch {
    static constexpr std::size_t kMax = max_length<T>();
    manual_lifetime<T> item[kMax];
    std::size_t length = 0;

    batch() = default;
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;
    ~batch() {
      while (length != 0) item[--length].destroy();
    }

    template <typename Source>
    void add(Source&& source) {
      item[length].make(std::forward<Source>(source));
      ++length;
    }
  };

  // ---- forward iterators

  template <typename Iterator>
  struct walk {
    Iterator first, last;
    std::size_t done;
    void run(thread_data& thread, for_each_call& call) { call.run_walk(thread, first, last, done); }
  };

  template <typename Iterator>
  void run_walk(thread_data& thread, Iterator first, Iterator last, std::size_t done) {
    batch<Iterator> places;
    const std::size_t length = next_length(done, places.kMax);
    for (; places.length < length && is_before(first, last); ++first) places.add(first);
    if (is_before(first, last)) spawn_rest(thread, walk<Iterator>{first, last, done + length});
    run_items(thread, places.length,
              [&](std::size_t i) -> decltype(*first) { return *places.item[i].get(); });
  }

  // ---- input iterators: the items are moved out of the sequence

  template <typename Iterator>
  struct input {
    Iterator next, last;
  };

  template <typename Iterator>
  struct input_walk {
    input<Iterator>* source;
    std::size_t done;
    void run(thread_data& thread, for_each_call& call) { call.run_input(thread, *source, done); }
  };

  template <typename Iterator>
  void run_input(thread_data& thread, input<Iterator>& source, std::size_t done) {
    batch<Value> items;
    const std::size_t length = next_length(done, items.kMax);
    for (; items.length < length && is_before(source.next, source.last); ++source.next) {
      items.add(*source.next);
    }
    // From here on only the thread that executes this task touches the iterators.
    if (items.length == length) spawn_rest(thread, input_walk<Iterator>{&source, done + length});
    run_items(thread, items.length,
              [&](std::size_t i) -> Value&& { return std::move(items.item[i].get()); });
  }

  const Body& body_;
};

// The category that says what an iterator can do. Since C++20 the category in its traits may be
// input only because its reference type is not a reference, as for views.
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
inline void for_each_in(thread_data& thread, context_node& group, Iterator first, Iterator last,
                        const Body& body) {
  using value = typename std::remove_cv<typename std::iterator_traits<Iterator>::value_type>::type;
  if (!is_before(first, last)) return;
  using item = fed_item<value, Body>;
  using given = typename std::conditional<
      std::is_base_of<std::forward_iterator_tag, category_of<Iterator>>::value, decltype(*first),
      value&>::type;
  constexpr bool feeds = takes_feeder<Body, item, given>::value;
  const call_trace trace(thread);
  for_each_call<value, item, Body> call(group, body, std::integral_constant<bool, feeds>());
  call.run(thread, first, last, category_of<Iterator>());
}

// Enabled if T, deduced from a parameter T&&, stands for an rvalue.
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
concept is_processed_by =
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

// Calls body(item) or body(item, feeder) for each item of [first, last) and each item added through
// the feeder<T>&, in any order and perhaps at the same time. Returns when all items are processed.
// T is the type in the body's signature, or the iterators' value type if the body is a template or
// overloaded. Return values are ignored. The body may be a pointer to a member function of the
// items or of what they point to. It is called as const from several threads.
//
// The body gets what the iterator gives, `*it`. Items of iterators that are only input iterators,
// and added items, are first copied or moved and then passed as rvalues, or as lvalues if the body
// takes no rvalue. Only one thread at a time uses input iterators. Items may be move-only, except
// for add(const T&).
//
// If the body or a copy throws, no further call begins, and the exception is thrown here. bad_alloc
// is treated in the same way. Any thread may call it.
template <typename InputIterator, typename Body>
CORBEL_REQUIRES(detail::is_processed_by<InputIterator, Body>)
inline void parallel_for_each(InputIterator first, InputIterator last, const Body& body) {
  detail::call_in_group([&](detail::thread_data& thread, detail::context_node& group) {
    detail::for_each_in(thread, group, first, last, body);
  });
}

// Processes the items as above, in the context `context`. An exception cancels the context. Once
// the context is cancelled, no further call begins.
template <typename InputIterator, typename Body>
CORBEL_REQUIRES(detail::is_processed_by<InputIterator, Body>)
inline void parallel_for_each(InputIterator first, InputIterator last, const Body& body,
                              task_group_context& context) {
  detail::call_in_group(context, [&](detail::thread_data& thread, detail::context_node& group) {
    detail::for_each_in(thread, group, first, last, body);
  });
}

// Process the items from begin(items) to end(items), as above. There is exactly one overload for
// each kind of argument. With two, the requirements would be checked for both, and a body that is a
// template would be instantiated for const items.
template <typename Container, typename Body>
CORBEL_REQUIRES(detail::is_processed_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container& items, const Body& body) {
  using std::begin;
  using std::end;
  corbel::parallel_for_each(begin(items), end(items), body);
}
template <typename Container, typename Body, typename = detail::if_rvalue<Container>>
CORBEL_REQUIRES(detail::is_processed_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container&& items, const Body& body) {
  corbel::parallel_for_each(items, body);
}
template <typename Container, typename Body>
CORBEL_REQUIRES(detail::is_processed_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container& items, const Body& body, task_group_context& context) {
  using std::begin;
  using std::end;
  corbel::parallel_for_each(begin(items), end(items), body, context);
}
template <typename Container, typename Body, typename = detail::if_rvalue<Container>>
CORBEL_REQUIRES(detail::is_processed_by<detail::iterator_of<Container&>, Body>)
inline void parallel_for_each(Container&& items, const Body& body, task_group_context& context) {
  corbel::parallel_for_each(items, body, context);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_FOR_EACH_HPP
