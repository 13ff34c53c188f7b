// SPDX-License-Identifier: Apache-2.0
// Passes items through a chain of functions, in parallel. C++11 and later. Follows the oneTBB
// specification 1.4 (parallel_pipeline).
#ifndef CORBEL_PARALLEL_PIPELINE_HPP
#define CORBEL_PARALLEL_PIPELINE_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/callable_types.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/detail/group_call.hpp>
#include <corbel/detail/pipeline.hpp>
#include <corbel/flow_control.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {

// How a filter handles items. parallel: several at a time. serial_in_order: one at a time, in the
// order in which the first serial filter of the chain got them. serial_out_of_order: one at a time,
// in the order of arrival.
enum class filter_mode : unsigned { parallel, serial_in_order, serial_out_of_order };

template <typename Input, typename Output>
class filter;

namespace detail {

// ---- filters ------------------------------------------------------------------------------------

// Either one filter or a chain of two. Shared by all filter<> objects that are copies of each other
// or contain it.
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

// Destroys the item at the end of the scope.
template <typename Item>
struct item_end {
  Item& item;
  ~item_end() { item.~Item(); }
};

// Calls body(item) and constructs the result at `out`. Passes the item as an rvalue, or as an
// lvalue if the body accepts no rvalue.
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
    flow_control_access access;
    call(out, access, std::is_void<Output>());
    return !access.is_stopped();
  }
  void drop(void*) const noexcept override {}

 private:
  void call(void*, flow_control_access& access, std::true_type) const { body_(access.control); }
  void call(void* out, flow_control_access& access, std::false_type) const {
    Output* const item = ::new (out) Output(body_(access.control));
    if (access.is_stopped()) item->~Output();
  }

  const Body body_;
};

template <typename Input, typename Output, typename Body>
using stage_of = typename std::conditional<std::is_void<Input>::value, first_stage<Output, Body>,
                                           later_stage<Input, Output, Body>>::type;

// ---- argument and result types of a body --------------------------------------------------------

template <typename Argument, typename Result>
struct filter_types {
  using input = typename std::conditional<
      std::is_same<Argument, flow_control&>::value, void,
      typename std::remove_cv<typename std::remove_reference<Argument>::type>::type>::type;
  using output = typename std::remove_cv<typename std::remove_reference<Result>::type>::type;
};

template <typename Body>
struct body_types
    : filter_types<typename callable_types<Body>::first, typename callable_types<Body>::result> {};

template <typename Body>
using deduced_filter = filter<typename body_types<Body>::input, typename body_types<Body>::output>;

}  // namespace detail

// A part of a pipeline that maps items of type Input to items of type Output: one function or a
// chain of them. Input is void for the first part of a pipeline, Output for the last. Items may be
// move-only. Copies share the functions. No thread may change an object while another thread uses
// it.
template <typename Input, typename Output>
class filter {
 public:
  // An empty filter, which can only be assigned to or destroyed.
  filter() = default;

  // One function: Output body(Input), or Output body(flow_control&) if Input is void. A copy of
  // `body` is called as const, by several threads at a time if the mode is parallel. The item is
  // passed as an rvalue, or as an lvalue if the body accepts no rvalue. Throws bad_alloc, and what
  // copying `body` throws.
  template <typename Body>
  filter(filter_mode mode, const Body& body) {
    using function = typename std::decay<Body>::type;
    const std::shared_ptr<detail::filter_node> node = std::make_shared<detail::filter_node>();
    node->stage.reset(new detail::stage_of<Input, Output, function>(mode, body));
    node_ = node;
  }

  // A chain: the items of `left` go to `right`. Neither may be empty. Throws bad_alloc.
  template <typename Between>
  filter(const filter<Input, Between>& left, const filter<Between, Output>& right) {
    CORBEL_ASSERT(detail::filter_access::node(left) && detail::filter_access::node(right),
                  "an empty filter in a chain");
    const std::shared_ptr<detail::filter_node> node = std::make_shared<detail::filter_node>();
    node->left = detail::filter_access::node(left);
    node->right = detail::filter_access::node(right);
    node_ = node;
  }

  // Appends `right` to the chain. Throws bad_alloc.
  filter& operator&=(const filter<Output, Output>& right) {
    *this = filter(*this, right);
    return *this;
  }

  // Makes the filter empty.
  void clear() { node_.reset(); }

 private:
  friend struct detail::filter_access;
  std::shared_ptr<const detail::filter_node> node_;
};

// Returns a filter of one function; see the constructor. The types can be deduced unless the
// function is a template or overloaded.
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

// Returns a chain: the items of `left` go to `right`. Throws bad_alloc.
template <typename Input, typename Between, typename Output>
inline filter<Input, Output> operator&(const filter<Input, Between>& left,
                                       const filter<Between, Output>& right) {
  return filter<Input, Output>(left, right);
}

namespace detail {

inline void run_pipeline(thread_data& thread, context_node& group, std::size_t max_tokens,
                         const filter<void, void>& chain) {
  CORBEL_ASSERT(filter_access::node(chain) != nullptr, "an empty pipeline");
  CORBEL_ASSERT(max_tokens > 0, "a pipeline needs at least one live token");
  if (filter_access::node(chain) == nullptr) return;
  stage_list stages;
  filter_access::node(chain)->append_to(&stages);
  pipeline_call(group, stages, max_tokens).run(thread);
}

}  // namespace detail

// Calls the chain's first filter until it stops the pipeline, passes each item it returns through
// the other filters, and returns when the last item has left. At most `max_number_of_live_tokens`
// items, which must be positive, are in the pipeline at a time; this bounds the memory and the
// number of threads.
//
// If a filter throws, no further filter is called, the items in the pipeline are destroyed, and the
// exception is thrown here. Throws bad_alloc. Any thread may call it.
inline void parallel_pipeline(std::size_t max_number_of_live_tokens,
                              const filter<void, void>& chain) {
  detail::call_in_group([&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_pipeline(thread, group, max_number_of_live_tokens, chain);
  });
}

// Runs the pipeline as above, in the context `context`: an exception cancels it, and cancelling it
// stops the pipeline.
inline void parallel_pipeline(std::size_t max_number_of_live_tokens,
                              const filter<void, void>& chain, task_group_context& context) {
  detail::call_in_group(context, [&](detail::thread_data& thread, detail::context_node& group) {
    detail::run_pipeline(thread, group, max_number_of_live_tokens, chain);
  });
}

// Runs the pipeline as above, with the parts of the chain as separate arguments, optionally
// followed by a context.
template <typename Filter0, typename Filter1, typename... FiltersAndContext>
inline void parallel_pipeline(std::size_t max_number_of_live_tokens, const Filter0& filter0,
                              const Filter1& filter1, FiltersAndContext&&... others) {
  corbel::parallel_pipeline(max_number_of_live_tokens, filter0 & filter1,
                            std::forward<FiltersAndContext>(others)...);
}

}  // namespace corbel

#endif  // CORBEL_PARALLEL_PIPELINE_HPP
