// SPDX-License-Identifier: Apache-2.0
// Passes items through a chain of functions, in parallel. C++11 upwards; parallel_pipeline of the
// oneTBB specification.
#ifndef CORBEL_PARALLEL_PIPELINE_HPP
#define CORBEL_PARALLEL_PIPELINE_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/pipeline.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

// How a filter handles items: several at a time; one at a time, in the order in which the first
// serial filter of the chain got them; one at a time, as they come.
enum class filter_mode : unsigned { parallel, serial_in_order, serial_out_of_order };

template <typename Input, typename Output>
class filter;

namespace detail {
template <typename Output, typename Body>
class first_stage;
}  // namespace detail

// What the first filter of a pipeline gets.
class flow_control {
 public:
  flow_control(const flow_control&) = delete;
  flow_control& operator=(const flow_control&) = delete;

  // There are no more items: what this call of the first filter returns is dropped, and it is not
  // called again. Calls of a parallel filter that have begun by then, or are about to, count.
  void stop() { stopped_ = true; }

 private:
  template <typename Output, typename Body>
  friend class detail::first_stage;
  flow_control() = default;
  bool stopped_ = false;
};

namespace detail {

// ---- filters ------------------------------------------------------------------------------------

// Either one filter or a chain of two; shared by all filter<> objects that were copied from each
// other or contain it.
struct filter_node {
  std::unique_ptr<const pipeline_stage> stage;
  std::shared_ptr<const filter_node> left, right;

  void append_to(stage_list* list) const {
    if (stage != nullptr) {
      list->push_back(stage.get());
      return;
    }
    left->append_to(list);
    right->append_to(list);
  }
};

struct filter_access {
  template <typename Input, typename Output>
  static const std::shared_ptr<const filter_node>& node(const filter<Input, Output>& f) {
    return f.node_;
  }
};

template <typename T>
struct item_size : std::integral_constant<std::size_t, sizeof(T)> {};
template <>
struct item_size<void> : std::integral_constant<std::size_t, 0> {};
template <typename T>
struct item_alignment : std::integral_constant<std::size_t, alignof(T)> {};
template <>
struct item_alignment<void> : std::integral_constant<std::size_t, 1> {};

// Destroys an item at the end of the scope.
template <typename Item>
struct item_end {
  Item& item;
  ~item_end() { item.~Item(); }
};

// Calls body(item) and puts what it returns to `out`. The item is an rvalue, or an lvalue for a
// body that takes no rvalue.
template <typename Output>
struct item_maker {
  template <typename Body, typename Input>
  static auto make(void* out, const Body& body, Input& item, int)
      -> decltype(static_cast<void>(detail::call(body, std::move(item)))) {
    ::new (out) Output(detail::call(body, std::move(item)));
  }
  template <typename Body, typename Input>
  static void make(void* out, const Body& body, Input& item, long) {
    ::new (out) Output(detail::call(body, item));
  }
};
template <>
struct item_maker<void> {
  template <typename Body, typename Input>
  static auto make(void*, const Body& body, Input& item, int)
      -> decltype(static_cast<void>(detail::call(body, std::move(item)))) {
    detail::call(body, std::move(item));
  }
  template <typename Body, typename Input>
  static void make(void*, const Body& body, Input& item, long) {
    detail::call(body, item);
  }
};

template <typename Input, typename Output, typename Body>
class later_stage : public pipeline_stage {
 public:
  later_stage(filter_mode mode, const Body& body)
      : pipeline_stage(item_size<Input>::value, item_alignment<Input>::value,
                       mode != filter_mode::parallel, mode == filter_mode::serial_in_order),
        body_(body) {}

  bool run(void* in, void* out) const override {
    Input& item = *static_cast<Input*>(in);
    const item_end<Input> end{item};
    item_maker<Output>::make(out, body_, item, 0);
    return true;
  }
  void drop(void* in) const noexcept override { static_cast<Input*>(in)->~Input(); }

 private:
  const Body body_;
};

template <typename Output, typename Body>
class first_stage : public pipeline_stage {
 public:
  first_stage(filter_mode mode, const Body& body)
      : pipeline_stage(0, 1, mode != filter_mode::parallel, mode == filter_mode::serial_in_order),
        body_(body) {}

  bool run(void*, void* out) const override {
    flow_control control;
    call(out, control, std::is_void<Output>());
    return !control.stopped_;
  }
  void drop(void*) const noexcept override {}

 private:
  void call(void*, flow_control& control, std::true_type) const { body_(control); }
  void call(void* out, flow_control& control, std::false_type) const {
    Output* const item = ::new (out) Output(body_(control));
    if (control.stopped_) item->~Output();
  }

  const Body body_;
};

template <typename Input, typename Output, typename Body>
using stage_of = typename std::conditional<std::is_void<Input>::value, first_stage<Output, Body>,
                                           later_stage<Input, Output, Body>>::type;

// ---- what a function takes and gives ------------------------------------------------------------

template <typename Argument, typename Result>
struct filter_types {
  using input = typename std::conditional<
      std::is_same<Argument, flow_control&>::value, void,
      typename std::remove_cv<typename std::remove_reference<Argument>::type>::type>::type;
  using output = typename std::remove_cv<typename std::remove_reference<Result>::type>::type;
};

template <typename Body>
struct body_types : body_types<decltype(&Body::operator())> {};
template <typename R, typename A>
struct body_types<R (*)(A)> : filter_types<A, R> {};
template <typename R, typename A>
struct body_types<R(A)> : filter_types<A, R> {};
template <typename C, typename R, typename A>
struct body_types<R (C::*)(A)> : filter_types<A, R> {};
template <typename C, typename R, typename A>
struct body_types<R (C::*)(A) const> : filter_types<A, R> {};
#if defined(__cpp_noexcept_function_type)
template <typename R, typename A>
struct body_types<R (*)(A) noexcept> : filter_types<A, R> {};
template <typename R, typename A>
struct body_types<R(A) noexcept> : filter_types<A, R> {};
template <typename C, typename R, typename A>
struct body_types<R (C::*)(A) noexcept> : filter_types<A, R> {};
template <typename C, typename R, typename A>
struct body_types<R (C::*)(A) const noexcept> : filter_types<A, R> {};
#endif

template <typename Body>
using deduced_filter = filter<typename body_types<Body>::input, typename body_types<Body>::output>;

}  // namespace detail

// A part of a pipeline that takes items of type Input and gives items of type Output: one function
// or several in a row. void as Input: the first of a pipeline; void as Output: the last. Items may
// be move-only. Copies share the functions. An object is not to be changed while another thread
// uses it.
template <typename Input, typename Output>
class filter {
 public:
  // Nothing; only to be assigned to.
  filter() = default;

  // One function: Output body(Input), or Output body(flow_control&) where Input is void. It is
  // called as const, by several threads if the mode is parallel. The item is passed as an rvalue,
  // or as an lvalue if the body takes no rvalue.
  template <typename Body>
  filter(filter_mode mode, const Body& body) {
    using function = typename std::decay<Body>::type;
    const std::shared_ptr<detail::filter_node> node = std::make_shared<detail::filter_node>();
    node->stage.reset(new detail::stage_of<Input, Output, function>(mode, body));
    node_ = node;
  }

  // What `left` gives goes to `right`. Neither may be empty.
  template <typename Between>
  filter(const filter<Input, Between>& left, const filter<Between, Output>& right) {
    CORBEL_ASSERT(detail::filter_access::node(left) && detail::filter_access::node(right),
                  "an empty filter in a chain");
    const std::shared_ptr<detail::filter_node> node = std::make_shared<detail::filter_node>();
    node->left = detail::filter_access::node(left);
    node->right = detail::filter_access::node(right);
    node_ = node;
  }

  // Puts `right` behind.
  filter& operator&=(const filter<Output, Output>& right) {
    *this = filter(*this, right);
    return *this;
  }

  // Makes it empty.
  void clear() { node_.reset(); }

 private:
  friend struct detail::filter_access;
  std::shared_ptr<const detail::filter_node> node_;
};

// A filter of one function; see the constructor. The types may be left out where the function is no
// template and not overloaded.
template <typename Input, typename Output, typename Body>
inline filter<Input, Output> make_filter(filter_mode mode, const Body& body) {
  return filter<Input, Output>(mode, body);
}
template <typename Body>
inline detail::deduced_filter<Body> make_filter(filter_mode mode, const Body& body) {
  return detail::deduced_filter<Body>(mode, body);
}

#if defined(__cpp_deduction_guides)
template <typename Body>
filter(filter_mode, Body)
    -> filter<typename detail::body_types<Body>::input, typename detail::body_types<Body>::output>;
template <typename Input, typename Between, typename Output>
filter(const filter<Input, Between>&, const filter<Between, Output>&) -> filter<Input, Output>;
#endif

// What `left` gives goes to `right`.
template <typename Input, typename Between, typename Output>
inline filter<Input, Output> operator&(const filter<Input, Between>& left,
                                       const filter<Between, Output>& right) {
  return filter<Input, Output>(left, right);
}

namespace detail {

inline void run_pipeline(worker& w, context_node& group, std::size_t most_tokens,
                         const filter<void, void>& chain) {
  CORBEL_ASSERT(filter_access::node(chain) != nullptr, "an empty pipeline");
  CORBEL_ASSERT(most_tokens > 0, "a pipeline needs at least one live token");
  if (filter_access::node(chain) == nullptr) return;
  stage_list stages;
  filter_access::node(chain)->append_to(&stages);
  pipeline_call(group, stages, most_tokens).run(w);
}

}  // namespace detail

// Calls the chain's first filter until it stops the pipeline, passes each item it returns through
// the others, and returns when the last has left. No more than `max_number_of_live_tokens`, which
// must be positive, are on their way at any time: they bound the memory, and the threads.
//
// If a filter throws, no more filters are called, all items on their way are destroyed, and the
// exception is thrown here. May be called from any thread.
inline void parallel_pipeline(std::size_t max_number_of_live_tokens,
                              const filter<void, void>& chain) {
  detail::call_in_group([&](detail::worker& w, detail::context_node& group) {
    detail::run_pipeline(w, group, max_number_of_live_tokens, chain);
  });
}

// The same in a context of the program's: an exception cancels it, and no filter is called any more
// when it is cancelled.
inline void parallel_pipeline(std::size_t max_number_of_live_tokens,
                              const filter<void, void>& chain, task_group_context& context) {
  detail::call_in_group(context, [&](detail::worker& w, detail::context_node& group) {
    detail::run_pipeline(w, group, max_number_of_live_tokens, chain);
  });
}

// The chain in parts, with or without a context behind them.
template <typename Filter0, typename Filter1, typename... FiltersAndContext>
inline void parallel_pipeline(std::size_t max_number_of_live_tokens, const Filter0& filter0,
                              const Filter1& filter1, FiltersAndContext&&... others) {
  corbel::parallel_pipeline(max_number_of_live_tokens, filter0 & filter1,
                            std::forward<FiltersAndContext>(others)...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_PIPELINE_HPP
