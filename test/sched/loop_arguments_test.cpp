// SPDX-License-Identifier: Apache-2.0
// Overload resolution of parallel_for, parallel_reduce and parallel_deterministic_reduce: they
// accept and refuse the same calls as separate functions for each partitioner and context would.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace {

using Range = tbb::blocked_range<int>;
using Context = tbb::task_group_context;

struct Body {
  std::atomic<int>* sum;
  void operator()(const Range& r) const { *sum += static_cast<int>(r.size()); }
};

struct Call {
  std::atomic<int>* calls;
  void operator()(int) const { ++*calls; }
};

struct Sum {
  int value = 0;
  Sum() = default;
  Sum(Sum&, tbb::split) {}
  void operator()(const Range& r) { value += static_cast<int>(r.size()); }
  void join(Sum& right) { value += right.value; }
};

int add_size(const Range& r, int value) { return value + static_cast<int>(r.size()); }
int plus(int a, int b) { return a + b; }

// ---- which calls are candidates, also before C++20 ---------------------------------------------

template <typename... Arguments>
using For = decltype(tbb::parallel_for(std::declval<Arguments>()...));
template <typename... Arguments>
using Reduce = decltype(tbb::parallel_reduce(std::declval<Arguments>()...));
template <typename... Arguments>
using Fixed = decltype(tbb::parallel_deterministic_reduce(std::declval<Arguments>()...));

template <template <typename...> class Result, typename Enabled, typename... Arguments>
struct IsCall : std::false_type {};
template <template <typename...> class Result, typename... Arguments>
struct IsCall<Result, decltype(static_cast<void>(std::declval<Result<Arguments...>*>())),
              Arguments...> : std::true_type {};

// Result<...> is void or a value.
template <typename... Arguments>
using ForCall = std::add_const<For<Arguments...>>;
template <typename... Arguments>
using ReduceCall = std::add_const<Reduce<Arguments...>>;
template <typename... Arguments>
using FixedCall = std::add_const<Fixed<Arguments...>>;

template <typename... Tail>
constexpr bool takes_tail() {
  return IsCall<ForCall, void, Range, Body, Tail...>::value &&
         IsCall<ForCall, void, int, int, Call, Tail...>::value &&
         IsCall<ForCall, void, int, int, int, Call, Tail...>::value &&
         IsCall<ReduceCall, void, Range, Sum&, Tail...>::value &&
         IsCall<ReduceCall, void, Range, int, decltype(&add_size), decltype(&plus), Tail...>::value;
}
template <typename... Tail>
constexpr bool refuses_tail() {
  return !IsCall<ForCall, void, Range, Body, Tail...>::value &&
         !IsCall<ForCall, void, int, int, Call, Tail...>::value &&
         !IsCall<ForCall, void, int, int, int, Call, Tail...>::value &&
         // Without concepts, a reduction with two more arguments may look like one with functions.
         (sizeof...(Tail) >= 2 || !IsCall<ReduceCall, void, Range, Sum&, Tail...>::value);
}
template <typename... Tail>
constexpr bool takes_fixed_tail() {
  return IsCall<FixedCall, void, Range, Sum&, Tail...>::value &&
         IsCall<FixedCall, void, Range, int, decltype(&add_size), decltype(&plus), Tail...>::value;
}

struct Derived : tbb::auto_partitioner {};
struct Converts {
  tbb::static_partitioner partitioner;
  operator const tbb::static_partitioner&() const { return partitioner; }
};
struct ConvertsToTwo {
  operator tbb::static_partitioner() const { return {}; }
  operator tbb::simple_partitioner() const { return {}; }
};
struct DerivedContext : tbb::task_group_context {};

TEST(LoopArguments, Candidates) {
  static_assert(takes_tail<>(), "");
  static_assert(takes_tail<tbb::simple_partitioner>(), "");
  static_assert(takes_tail<tbb::auto_partitioner&>(), "");
  static_assert(takes_tail<const tbb::static_partitioner&>(), "");
  static_assert(takes_tail<tbb::affinity_partitioner&>(), "");
  static_assert(takes_tail<Context&>(), "");
  static_assert(takes_tail<const tbb::simple_partitioner&, Context&>(), "");
  static_assert(takes_tail<tbb::affinity_partitioner&, Context&>(), "");
  // Arguments that convert implicitly.
  static_assert(takes_tail<Derived>() && takes_tail<const Derived&, Context&>(), "");
  static_assert(takes_tail<Converts>() && takes_tail<Converts&, Context&>(), "");
  static_assert(takes_tail<DerivedContext&>(), "");
  static_assert(takes_tail<tbb::auto_partitioner, DerivedContext&>(), "");
  static_assert(takes_tail<std::reference_wrapper<tbb::affinity_partitioner>>(), "");
  static_assert(takes_tail<std::reference_wrapper<Context>>(), "");
  static_assert(takes_tail<tbb::auto_partitioner, std::reference_wrapper<Context>>(), "");

  static_assert(refuses_tail<const tbb::affinity_partitioner&>(), "");
  static_assert(refuses_tail<tbb::affinity_partitioner>(), "");
  static_assert(refuses_tail<const Context&>() && refuses_tail<Context>(), "");
  static_assert(refuses_tail<Context&, tbb::auto_partitioner>(), "");
  static_assert(refuses_tail<Context&, Context&>(), "");
  static_assert(refuses_tail<tbb::auto_partitioner, tbb::auto_partitioner>(), "");
  static_assert(refuses_tail<tbb::auto_partitioner, Context&, Context&>(), "");
  static_assert(refuses_tail<tbb::auto_partitioner, const Context&>(), "");
  static_assert(refuses_tail<int>() && refuses_tail<std::nullptr_t>(), "");
  static_assert(refuses_tail<ConvertsToTwo>(), "");

  static_assert(takes_fixed_tail<>() && takes_fixed_tail<Context&>(), "");
  static_assert(takes_fixed_tail<tbb::simple_partitioner>(), "");
  static_assert(takes_fixed_tail<const tbb::static_partitioner&, Context&>(), "");
  static_assert(!IsCall<FixedCall, void, Range, Sum&, tbb::auto_partitioner>::value, "");
  static_assert(!IsCall<FixedCall, void, Range, Sum&, tbb::affinity_partitioner&>::value, "");
  // Bodies of reductions are lvalues. Both bounds have the same type.
  static_assert(!IsCall<ReduceCall, void, Range, Sum>::value, "");
  static_assert(!IsCall<ForCall, void, int, long, Call>::value, "");
}

// `{}` could be any of the partitioners.
template <typename F, typename = void>
struct TakesBraces : std::false_type {};
template <typename F>
struct TakesBraces<F, decltype(tbb::parallel_for(std::declval<Range>(), std::declval<F>(), {}))>
    : std::true_type {};
template <typename F, typename = void>
struct TakesBracesInContext : std::false_type {};
template <typename F>
struct TakesBracesInContext<F, decltype(tbb::parallel_for(std::declval<Range>(), std::declval<F>(),
                                                          {}, std::declval<Context&>()))>
    : std::true_type {};
static_assert(!TakesBraces<Body>::value && !TakesBracesInContext<Body>::value, "");

// ---- which one is called ------------------------------------------------------------------------

TEST(LoopArguments, ConvertedPartitionersAreUsed) {
  // With four slots static_partitioner calls the body at most four times; auto_partitioner calls it
  // more often.
  std::atomic<int> sum{0};
  std::atomic<int> calls{0};
  const auto body = [&](const Range& r) {
    sum += static_cast<int>(r.size());
    ++calls;
  };
  tbb::parallel_for(Range(0, 1 << 20), body, tbb::static_partitioner());
  const int once = calls.exchange(0);
  tbb::parallel_for(Range(0, 1 << 20), body, Converts());
  EXPECT_EQ(calls.exchange(0), once);
  tbb::parallel_for(Range(0, 1 << 20), body, Derived());
  EXPECT_GT(calls.exchange(0), once);
  EXPECT_EQ(sum, 3 << 20);
  tbb::affinity_partitioner affinity;
  tbb::parallel_for(Range(0, 1 << 20), body, std::ref(affinity));
  EXPECT_EQ(sum, 4 << 20);
}

TEST(LoopArguments, ContextsAreUsed) {
  DerivedContext context;
  context.cancel_group_execution();
  const auto body = [](const Range&) { FAIL(); };
  const auto f = [](int) { FAIL(); };
  tbb::parallel_for(Range(0, 10), body, context);
  tbb::parallel_for(Range(0, 10), body, Converts(), context);
  tbb::parallel_for(Range(0, 10), body, tbb::auto_partitioner(), std::ref<Context>(context));
  tbb::parallel_for(0, 10, f, context);
  tbb::parallel_for(0, 10, 2, f, std::ref<Context>(context));
  Sum sum;
  tbb::parallel_reduce(Range(0, 10), sum, context);
  tbb::parallel_deterministic_reduce(Range(0, 10), sum, tbb::static_partitioner(), context);
  EXPECT_EQ(sum.value, 0);
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 10), 7, add_size, plus, context), 7);
  EXPECT_EQ(tbb::parallel_deterministic_reduce(Range(0, 10), 7, add_size, plus, context), 7);
}

TEST(LoopArguments, ExplicitTemplateArguments) {
  std::atomic<int> sum{0};
  std::atomic<int> calls{0};
  const int n = 10;
  Context context;
  tbb::parallel_for<Range>(Range(0, 10), Body{&sum});
  tbb::parallel_for<Range, Body>(Range(0, 10), {&sum}, tbb::simple_partitioner());
  tbb::parallel_for<Range, Body>(Range(0, 10), Body{&sum}, tbb::simple_partitioner(), context);
  EXPECT_EQ(sum, 30);
  // The usual remedy for bounds of different types.
  tbb::parallel_for<std::size_t>(0, n, [&](std::size_t) { ++calls; });
  tbb::parallel_for<std::size_t>(0, n, [&](std::size_t) { ++calls; }, tbb::static_partitioner());
  tbb::parallel_for<std::size_t>(0, n, 2, [&](std::size_t) { ++calls; }, context);
  tbb::parallel_for<long, Call>(0, n, {&calls});
  tbb::parallel_for<long, Call>(0, n, 1, {&calls}, tbb::auto_partitioner(), context);
  EXPECT_EQ(calls, 45);
  Sum reduced;
  tbb::parallel_reduce<Range, Sum>(Range(0, 10), reduced, tbb::auto_partitioner());
  EXPECT_EQ(reduced.value, 10);
  EXPECT_EQ((tbb::parallel_reduce<Range, long>(
                Range(0, 10), 0, [](const Range& r, long v) { return v + long(r.size()); },
                [](long a, long b) { return a + b; })),
            10);
}

TEST(LoopArguments, AddressesOfTheFunctions) {
  std::atomic<int> sum{0};
  void (*plain)(const Range&, const Body&) = &tbb::parallel_for<Range, Body>;
  void (*simple)(const Range&, const Body&, const tbb::simple_partitioner&) =
      &tbb::parallel_for<Range, Body>;
  void (*affine)(const Range&, const Body&, tbb::affinity_partitioner&) =
      &tbb::parallel_for<Range, Body>;
  void (*in_context)(const Range&, const Body&, Context&) = &tbb::parallel_for<Range, Body>;
  void (*both)(const Range&, const Body&, const tbb::auto_partitioner&, Context&) =
      &tbb::parallel_for<Range, Body>;
  Context context;
  tbb::affinity_partitioner affinity;
  plain(Range(0, 10), Body{&sum});
  simple(Range(0, 10), Body{&sum}, tbb::simple_partitioner());
  affine(Range(0, 10), Body{&sum}, affinity);
  in_context(Range(0, 10), Body{&sum}, context);
  both(Range(0, 10), Body{&sum}, tbb::auto_partitioner(), context);
  EXPECT_EQ(sum, 50);
}

// Like a body, the value of a reduction with functions may be an lvalue. A reduction with a body
// may have as many arguments as one with functions.
TEST(LoopArguments, BodiesAndFunctionsAreDistinguished) {
  int identity = 5;
  const int fixed = 5;
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 1), identity, add_size, plus), 6);
  EXPECT_EQ(tbb::parallel_reduce(Range(0, 1), fixed, add_size, plus, tbb::simple_partitioner()), 6);
  Context context;
  Sum sum;
  const tbb::simple_partitioner partitioner;
  tbb::simple_partitioner changeable;
  tbb::parallel_reduce(Range(0, 10), sum, partitioner, context);
  tbb::parallel_reduce(Range(0, 10), sum, changeable, context);
  tbb::parallel_deterministic_reduce(Range(0, 10), sum, partitioner, context);
  EXPECT_EQ(sum.value, 30);
}

// A call with other arguments must not instantiate the body for them.
TEST(LoopArguments, BodiesAreInstantiatedOnlyForTheirArguments) {
  std::atomic<int> calls{0};
  const auto body = [&](auto& r) {
    static_assert(std::is_same<decltype(r), Range&>::value, "");
    calls += static_cast<int>(r.size());
  };
  const auto f = [&](auto i) {
    static_assert(std::is_same<decltype(i), int>::value, "");
    ++calls;
  };
  Context context;
  tbb::affinity_partitioner affinity;
  tbb::parallel_for(Range(0, 10), body);
  tbb::parallel_for(Range(0, 10), body, context);
  tbb::parallel_for(Range(0, 10), body, affinity, context);
  tbb::parallel_for(0, 10, 1, f, affinity, context);
  EXPECT_EQ(calls, 40);
}

// All overloads of a function, and member functions, as bodies.
void by_pointer(const Range&) {}
struct Numbers {
  void run() const {}
};

TEST(LoopArguments, FunctionsAndMembers) {
  tbb::parallel_for(Range(0, 10), by_pointer);
  tbb::parallel_for(Range(0, 10), &by_pointer, tbb::simple_partitioner());
  tbb::parallel_for(Range(0, 10), &Range::size);
  Numbers numbers[10];
  tbb::parallel_for(numbers, numbers + 10, [](Numbers* n) { n->run(); });
  tbb::parallel_for(numbers, numbers + 10, &Numbers::run);
}

// A body may be a partitioner or a context itself, and may say so only as an rvalue.
struct ContextBody : tbb::task_group_context {
  std::atomic<int>* calls = nullptr;
  void operator()(int) const { ++*calls; }
};
struct PartitionerBody : tbb::simple_partitioner {
  std::atomic<int>* calls = nullptr;
  void operator()(int) const { ++*calls; }
};
struct OnlyAsRvalue {
  operator tbb::static_partitioner() && { return {}; }
};

TEST(LoopArguments, BodiesThatArePartitionersOrContexts) {
  std::atomic<int> calls{0};
  ContextBody in_context;
  in_context.calls = &calls;
  PartitionerBody partitioner;
  partitioner.calls = &calls;
  tbb::parallel_for(0, 10, in_context);
  tbb::parallel_for(0, 10, 1, in_context);
  tbb::parallel_for(0, 10, partitioner);
  tbb::parallel_for(0, 10, 1, partitioner);
  tbb::parallel_for(0, 10, PartitionerBody(partitioner));
  tbb::parallel_for(0, 10, 1, in_context, partitioner, in_context);
  EXPECT_EQ(calls, 60);
  tbb::parallel_for(Range(0, 10), by_pointer, OnlyAsRvalue());
}

}  // namespace
