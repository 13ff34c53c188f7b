// SPDX-License-Identifier: Apache-2.0
// Code that the specification allows and no other test covers: conversions, constness, all kinds of
// callables, and types with only the required members. It must also compile as C++11.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/collaborative_call_once.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus >= 202002L
#include <list>
#include <ranges>
#endif

namespace {

using Range = tbb::blocked_range<int>;

// ---- conversions and constness ------------------------------------------------------------------

TEST(ConformanceArena, IsConstructedFromItsArguments) {
  static_assert(std::is_convertible<int, tbb::task_arena>::value, "");
  static_assert(std::is_convertible<tbb::task_arena::constraints, tbb::task_arena>::value, "");
  static_assert(!std::is_convertible<tbb::attach, tbb::task_arena>::value, "");
  static_assert(std::is_constructible<tbb::task_arena, tbb::task_arena::attach>::value, "");
  static_assert(!std::is_copy_assignable<tbb::task_arena>::value, "");
  tbb::task_arena none = {};
  EXPECT_FALSE(none.is_active());
  const tbb::task_arena arenas[] = {2, {3, 1}, {4, 1, tbb::task_arena::priority::high}};
  EXPECT_EQ(arenas[0].max_concurrency(), 2);
  EXPECT_EQ(arenas[1].max_concurrency(), 3);
  EXPECT_EQ(arenas[2].max_concurrency(), 4);
}

TEST(ConformanceArena, ConstraintsHaveNamedMembers) {
  using constraints = tbb::task_arena::constraints;
  const constraints open{};
  EXPECT_EQ(open.numa_id, tbb::task_arena::automatic + 0);
  EXPECT_EQ(open.max_concurrency, -1);
  EXPECT_EQ(open.core_type, -1);
  EXPECT_EQ(open.max_threads_per_core, -1);
  const constraints first_two{0, 3};
  EXPECT_EQ(first_two.numa_id, 0);
  EXPECT_EQ(first_two.max_concurrency, 3);
#if __cplusplus >= 202002L
  const constraints named{.numa_id = 0, .max_concurrency = 5, .max_threads_per_core = 1};
  EXPECT_EQ(named.max_concurrency, 5);
  EXPECT_EQ(named.core_type, -1);
  EXPECT_EQ(tbb::info::default_concurrency({.max_concurrency = 7}), 7);
#endif
}

TEST(ConformanceArena, PhasesAndLeavePoliciesAreHints) {
  using phase = tbb::task_arena::parallel_phase;
  using policy = tbb::task_arena::leave_policy;
  static_assert(!std::is_copy_constructible<phase>::value, "");
  static_assert(std::is_move_constructible<phase>::value, "");
  static_assert(std::is_convertible<phase::end_flag_fast_leave, phase::flags>::value, "");
  tbb::task_arena arena(2, 1, tbb::task_arena::priority::normal, policy::fast);
  tbb::task_arena other;
  other.initialize(2, 1, tbb::task_arena::priority::normal, policy::automatic);
  arena.start_parallel_phase();
  EXPECT_TRUE(arena.is_active());
  {
    phase one(arena, phase::end_flag_fast_leave());
    phase two = std::move(one);
    two.end();
    phase here{tbb::attach()};
  }
  arena.end_parallel_phase(phase::end_flag_fast_leave());
  tbb::this_task_arena::start_parallel_phase();
  EXPECT_GE(tbb::this_task_arena::current_thread_index(), 0);
  tbb::this_task_arena::end_parallel_phase(phase::end_flag_fast_leave());
  using control = tbb::global_control;
  EXPECT_EQ(control::active_value(control::leave_policy), std::size_t(policy::automatic));
  {
    const control fast(control::leave_policy, policy::fast);
    EXPECT_EQ(control::active_value(control::leave_policy), std::size_t(policy::fast));
    const control automatic(control::leave_policy, policy::automatic);
    EXPECT_EQ(control::active_value(control::leave_policy), std::size_t(policy::fast));
  }
  EXPECT_EQ(control::active_value(control::leave_policy), 0u);
}

int answer = 42;

TEST(ConformanceArena, ExecuteReturnsWhatTheFunctionReturns) {
  tbb::task_arena arena(2);
  EXPECT_EQ(&arena.execute([]() -> int& { return answer; }), &answer);
  EXPECT_EQ(&arena.execute([]() -> const int& { return answer; }), &answer);
  EXPECT_EQ(*arena.execute([] { return std::unique_ptr<int>(new int(3)); }), 3);
  EXPECT_EQ(*tbb::this_task_arena::isolate([] { return std::unique_ptr<int>(new int(4)); }), 4);
  EXPECT_EQ(&tbb::this_task_arena::isolate([]() -> int& { return answer; }), &answer);
}

void set_out(tbb::task_group_context&& context) { context.cancel_group_execution(); }

TEST(ConformanceContext, CanBeQueriedWhereItIsConst) {
  set_out({});
  set_out(tbb::task_group_context::isolated);
  tbb::task_group_context context{tbb::task_group_context::isolated};
  const tbb::task_group_context& seen = context;
  EXPECT_FALSE(seen.is_group_execution_cancelled());
  context.cancel_group_execution();
  EXPECT_TRUE(seen.is_group_execution_cancelled());
  EXPECT_EQ(seen.traits(), std::uintptr_t(tbb::task_group_context::default_traits));
}

// ---- all kinds of callables --------------------------------------------------------------

struct Account {
  int balance = 0;
  int pay_in(int sum) { return balance += sum; }
  void double_it() { balance *= 2; }
  bool is_rich() const { return balance > 100; }
};
struct Savings : Account {};

TEST(ConformanceInvoke, MembersOfPointees) {
  std::vector<Savings> accounts(300);
  std::vector<Account*> pointers;
  std::vector<std::reference_wrapper<Account>> references;
  std::vector<std::shared_ptr<Savings>> shared;
  for (Savings& account : accounts) {
    account.balance = 1;
    pointers.push_back(&account);
    references.push_back(account);
    shared.push_back(std::make_shared<Savings>(account));
  }
  tbb::parallel_for_each(accounts, &Account::double_it);
  tbb::parallel_for_each(pointers, &Account::double_it);
  tbb::parallel_for_each(references, &Account::double_it);
  tbb::parallel_for_each(shared.begin(), shared.end(), &Account::double_it);
  for (const Savings& account : accounts) EXPECT_EQ(account.balance, 8);
  for (const std::shared_ptr<Savings>& account : shared) EXPECT_EQ(account->balance, 2);
}

TEST(ConformanceInvoke, MembersAsFilters) {
  std::vector<Savings> accounts(50);
  std::size_t next = 0;
  int sum = 0;
  tbb::parallel_pipeline(
      4, tbb::make_filter<void, Account*>(tbb::filter_mode::serial_in_order,
                                          [&](tbb::flow_control& control) -> Account* {
                                            if (next == accounts.size()) {
                                              control.stop();
                                              return nullptr;
                                            }
                                            accounts[next].balance = int(next);
                                            return &accounts[next++];
                                          }) &
             tbb::make_filter<Account*, int>(tbb::filter_mode::parallel, &Account::balance) &
             tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order,
                                         [&](int balance) { sum += balance; }));
  EXPECT_EQ(sum, 49 * 50 / 2);
}

struct Sum {
  long value;
  Sum plus(const Sum& right) const { return Sum{value + right.value}; }
};

TEST(ConformanceInvoke, MembersAsReductions) {
  const auto add = [](const Range& r, Sum sum) {
    for (int i = r.begin(); i != r.end(); ++i) sum.value += i;
    return sum;
  };
  const Sum all = tbb::parallel_reduce(Range(0, 1000), Sum{0}, add, &Sum::plus);
  EXPECT_EQ(all.value, 499500);
  const Sum scanned = tbb::parallel_scan(
      Range(0, 1000), Sum{0}, [&](const Range& r, Sum sum, bool) { return add(r, sum); },
      &Sum::plus);
  EXPECT_EQ(scanned.value, 499500);
}

TEST(ConformanceInvoke, MembersCalledOnce) {
  Account account;
  tbb::collaborative_once_flag flag;
  for (int i = 0; i < 3; ++i) {
    tbb::collaborative_call_once(flag, &Account::pay_in, &account, 5);
  }
  EXPECT_EQ(account.balance, 5);
  tbb::collaborative_once_flag moved;
  tbb::collaborative_call_once(
      moved, [](std::unique_ptr<int> p) { answer = *p; }, std::unique_ptr<int>(new int(42)));
  EXPECT_EQ(answer, 42);
}

std::atomic<int> function_calls{0};
void count_call(int) { function_calls.fetch_add(1); }
void count_range(const Range& range) { function_calls.fetch_add(int(range.size())); }

TEST(ConformanceInvoke, PlainFunctions) {
  function_calls = 0;
  tbb::parallel_for(0, 10, count_call);
  tbb::parallel_for(0, 10, 2, &count_call);
  tbb::parallel_for(Range(0, 10), count_range);
  const int items[] = {1, 2, 3};
  tbb::parallel_for_each(items, count_call);
  tbb::parallel_for_each(std::begin(items), std::end(items), &count_call);
  EXPECT_EQ(function_calls.load(), 31);
}

struct NotCopied {
  NotCopied() = default;
  NotCopied(const NotCopied&) = delete;
  NotCopied& operator=(const NotCopied&) = delete;
  void operator()() const { function_calls.fetch_add(1); }
  void operator()(int) const { function_calls.fetch_add(1); }
};

TEST(ConformanceInvoke, FunctionsThatCannotBeCopied) {
  function_calls = 0;
  tbb::parallel_for(0, 10, NotCopied());
  const std::vector<int> items(10, 1);
  tbb::parallel_for_each(items, NotCopied());
  tbb::task_arena arena(2);
  arena.execute(NotCopied());
  tbb::this_task_arena::isolate(NotCopied());
  tbb::task_group group;
  group.run_and_wait(NotCopied());
  EXPECT_EQ(function_calls.load(), 23);
}

// ---- types with only the required members
// ----------------------------------------------------------

// An Index with only the required operations: construction from an int, copy, <, - and +.
class Day {
 public:
  class Distance {
   public:
    explicit Distance(long days) : days_(days) {}
    explicit Distance(std::size_t days) : days_(long(days)) {}
    operator std::size_t() const { return std::size_t(days_); }

   private:
    long days_;
  };

  explicit Day(int number) : number_(number) {}
  friend bool operator<(const Day& a, const Day& b) { return a.number_ < b.number_; }
  friend Distance operator-(const Day& a, const Day& b) { return Distance(a.number_ - b.number_); }
  friend Day operator+(const Day& a, const Distance& b) {
    return Day(int(a.number_ + long(std::size_t(b))));
  }
  long number() const { return number_; }

 private:
  long number_;
};

TEST(ConformanceIndex, NeedsFewOperations) {
  std::vector<std::atomic<int>> seen(100);
  for (std::atomic<int>& times : seen) times = 0;
  const auto mark = [&](const Day& day) { seen[std::size_t(day.number())].fetch_add(1); };
  tbb::parallel_for(Day(10), Day(20), mark);
  tbb::parallel_for(Day(30), Day(60), Day(7), mark);
  tbb::parallel_for(Day(5), Day(5), mark);
  EXPECT_THROW(tbb::parallel_for(Day(1), Day(2), Day(0), mark), std::invalid_argument);
  for (int day = 0; day < 100; ++day) {
    const bool expected =
        (day >= 10 && day < 20) || day == 30 || day == 37 || day == 44 || day == 51 || day == 58;
    EXPECT_EQ(seen[std::size_t(day)].load(), int(expected)) << day;
  }
}

TEST(ConformanceIndex, MayBeAnIterator) {
  std::vector<int> values(1000, 1);
  tbb::parallel_for(values.begin(), values.end(),
                    [](std::vector<int>::iterator value) { ++*value; });
  tbb::parallel_for(values.data(), values.data() + 500, [](int* value) { ++*value; });
  EXPECT_EQ(values.front(), 3);
  EXPECT_EQ(values.back(), 2);
}

#if __cplusplus >= 201402L
TEST(ConformanceBodies, TemplatesAreInstantiatedOnlyForTheirArguments) {
  std::map<int, int> pairs{{1, 1}, {2, 2}};
  tbb::parallel_for_each(pairs, [](auto& pair) { pair.second += 1; });
  tbb::parallel_for_each(pairs, [](auto&& pair) { pair.second += 1; });
  tbb::parallel_for_each(pairs.begin(), pairs.end(), [](auto& pair) { pair.second += 1; });
  EXPECT_EQ(pairs[1] + pairs[2], 9);
  tbb::parallel_for_each(std::vector<int>(3, 1), [](auto& item) { item += 1; });
  tbb::parallel_for(Range(0, 10), [](auto& r) { EXPECT_FALSE(r.empty()); });
  tbb::parallel_for(0, 10, [](auto i) { EXPECT_LT(i, 10); });
  const auto scan = [](const auto& r, auto sum, auto tag) {
    static_assert(std::is_same<decltype(tag.is_final_scan()), bool>::value, "");
    return sum + r.size();
  };
  const auto add = [](auto a, auto b) { return a + b; };
  EXPECT_EQ(tbb::parallel_scan(Range(0, 10), std::size_t(0), scan, add), 10u);
}
#endif

// The body declares the feeder's item type. The items of the sequence convert to it.
struct Walk {
  std::atomic<int>* visits;
  void operator()(const Account* account, tbb::feeder<const Account*>& feeder) const {
    visits->fetch_add(1);
    if (account->balance > 0) feeder.add(account - 1);
  }
};

TEST(ConformanceFeeder, TakesTheTypeThatTheBodyDeclares) {
  Account chain[5];
  for (int i = 0; i < 5; ++i) chain[i].balance = i;
  std::vector<Account*> roots(1, &chain[4]);
  std::atomic<int> visits{0};
  tbb::parallel_for_each(roots, Walk{&visits});
  EXPECT_EQ(visits.load(), 5);
}

#if __cplusplus >= 202002L
TEST(ConformanceIterators, ViewsAreNotOnlyInput) {
  using Numbers = decltype(std::views::iota(0, 10).begin());
  static_assert(
      std::is_same_v<corbel::detail::category_of<Numbers>, std::random_access_iterator_tag>);
  static_assert(std::is_same_v<corbel::detail::category_of<std::move_iterator<int*>>,
                               std::random_access_iterator_tag>);
  std::atomic<int> sum{0};
  tbb::parallel_for_each(std::views::iota(0, 1000), [&](int i) { sum.fetch_add(i); });
  EXPECT_EQ(sum.load(), 499500);
}

// ---- calls that must not compile
// ------------------------------------------------------------------------

template <typename... Args>
concept IsFor = requires(Args&&... args) { tbb::parallel_for(std::forward<Args>(args)...); };
template <typename... Args>
concept IsReduce = requires(Args&&... args) { tbb::parallel_reduce(std::forward<Args>(args)...); };
template <typename... Args>
concept IsScan = requires(Args&&... args) { tbb::parallel_scan(std::forward<Args>(args)...); };
template <typename... Args>
concept IsForEach =
    requires(Args&&... args) { tbb::parallel_for_each(std::forward<Args>(args)...); };
template <typename... Args>
concept IsSort = requires(Args&&... args) { tbb::parallel_sort(std::forward<Args>(args)...); };

struct NoRange {};
struct NotConst {
  void operator()(const Range&);
};
struct ReduceBody {
  ReduceBody(ReduceBody&, tbb::split);
  void operator()(const Range&);
  void join(ReduceBody&);
};
struct ScanBody {
  ScanBody(ScanBody&, tbb::split);
  void operator()(const Range&, tbb::pre_scan_tag);
  void operator()(const Range&, tbb::final_scan_tag);
  void reverse_join(ScanBody&);
  void assign(ScanBody&);
};
using Context = tbb::task_group_context;
using Vector = std::vector<int>;
using OnRange = void (*)(const Range&);
using OnInt = void (*)(int);
using Add = int (*)(const Range&, int);
using Plus = int (*)(int, int);
using Less = bool (*)(int, int);

TEST(ConformanceConcepts, InvalidCallsDoNotCompile) {
  static_assert(IsFor<Range, OnRange> && IsFor<Range, OnRange, tbb::auto_partitioner, Context&>);
  static_assert(IsFor<int, int, OnInt> && IsFor<int, int, int, OnInt, Context&>);
  static_assert(!IsFor<Range, OnInt> && !IsFor<NoRange, OnRange> && !IsFor<Range, NotConst>);
  static_assert(!IsFor<int, int, OnRange> && !IsFor<int, int, int, OnRange>);
  static_assert(!IsFor<Range, OnRange, const tbb::affinity_partitioner&>);

  static_assert(IsReduce<Range, ReduceBody&> && IsReduce<Range, int, Add, Plus>);
  static_assert(IsReduce<Range, int, Add, Plus, tbb::static_partitioner, Context&>);
  static_assert(!IsReduce<Range, ReduceBody> && !IsReduce<Range, ScanBody&>);
  static_assert(!IsReduce<Range, int, Plus, Add> && !IsReduce<NoRange, int, Add, Plus>);

  static_assert(IsScan<Range, ScanBody&> && !IsScan<Range, ReduceBody&>);
  static_assert(IsScan<Range, int, int (*)(const Range&, int, bool), Plus>);
  static_assert(!IsScan<Range, int, Add, Plus> && !IsScan<NoRange, ScanBody&>);

  static_assert(IsForEach<Vector&, OnInt> && IsForEach<int*, int*, OnInt, Context&>);
  static_assert(!IsForEach<Vector&, OnRange> && !IsForEach<int, int, OnInt>);
  static_assert(!IsForEach<NoRange&, OnInt>);

  static_assert(IsSort<Vector&> && IsSort<int*, int*> && IsSort<Vector&, Less>);
  static_assert(IsSort<Vector::iterator, Vector::iterator, Less>);
  static_assert(!IsSort<std::vector<NoRange>&> && !IsSort<Vector&, OnRange>);
  static_assert(!IsSort<std::list<int>&> && !IsSort<NoRange, NoRange>);
}
#endif

}  // namespace
