// SPDX-License-Identifier: Apache-2.0
// The graph that nodes and their messages belong to. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_GRAPH_HPP
#define CORBEL_FLOW_GRAPH_HPP

#include <atomic>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include <corbel/detail/basic_mutex.hpp>
#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/outside_tasks.hpp>
#include <corbel/detail/flow/urgent_tasks.hpp>
#include <corbel/detail/group_count.hpp>
#include <corbel/task_arena.hpp>
#include <corbel/task_group_context.hpp>

namespace corbel {
namespace flow {

class graph;

// What graph::reset does. rf_reset_protocol: empties all buffers and brings all nodes into the
// state after their construction, edges and bodies excepted; always done. rf_reset_bodies: also
// replaces the bodies by copies of those given to the constructors. rf_clear_edges: also removes
// all edges.
enum reset_flags { rf_reset_protocol = 1 << 0, rf_reset_bodies = 1 << 1, rf_clear_edges = 1 << 2 };

// Limits of the number of concurrent calls of a node's body.
enum concurrency { unlimited = 0, serial = 1 };

// Base of all nodes. The graph must outlive its nodes, or they must not be used after its end.
class graph_node {
 public:
  explicit graph_node(graph& g);
  virtual ~graph_node();
  graph_node(const graph_node&) = delete;
  graph_node& operator=(const graph_node&) = delete;

  // The graph of the node.
  graph& graph_reference() const { return *my_graph; }

 protected:
  friend class graph;
  template <typename Node>
  friend class graph_iterator;

  // Does what reset_flags says, for this node. No task of the graph runs.
  virtual void reset_node(reset_flags flags = rf_reset_protocol) = 0;
  // Called after all nodes have been reset: starts what begins by itself.
  virtual void restart_node() {}

  graph* my_graph;  // nullptr once the graph is gone

 private:
  graph_node* next_ = nullptr;
  graph_node* previous_ = nullptr;
};

// A forward iterator over the nodes of a graph, in the order of their construction. Node is
// graph_node or const graph_node.
template <typename Node>
class graph_iterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Node;
  using difference_type = std::ptrdiff_t;
  using pointer = Node*;
  using reference = Node&;
  using size_type = std::size_t;

  graph_iterator() = default;
  explicit graph_iterator(Node* node) : node_(node) {}
  reference operator*() const { return *node_; }
  pointer operator->() const { return node_; }
  graph_iterator& operator++() {
    node_ = node_->next_;
    return *this;
  }
  graph_iterator operator++(int) {
    graph_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const graph_iterator& a, const graph_iterator& b) {
    return a.node_ == b.node_;
  }
  friend bool operator!=(const graph_iterator& a, const graph_iterator& b) { return !(a == b); }

 private:
  Node* node_ = nullptr;
};

// Nodes and the tasks that carry their messages. The tasks run in the arena in which the graph was
// made, or in which it was last reset. Any thread may put messages, wait and cancel at any time;
// reset, the iterators and the destructor are for one thread.
class graph {
 public:
  using iterator = graph_iterator<graph_node>;
  using const_iterator = graph_iterator<const graph_node>;

  // A graph with a context of its own, in the calling thread's arena.
  graph() : graph(nullptr) {}
  // A graph whose tasks run in `context`, which must outlive it.
  explicit graph(task_group_context& context) : graph(&context) {}
  // Waits for the graph's tasks. What a body has thrown is dropped.
  ~graph() {
    wait_until_idle();
    for (graph_node* n = nodes_; n != nullptr; n = n->next_) n->my_graph = nullptr;
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  // Keeps the graph from being idle until release_wait: the counterpart of work that is done
  // elsewhere. A thread that waits for the graph waits for that, too. Any thread may call them.
  void reserve_wait() { tasks_.reserve(detail::current_thread()); }
  void release_wait() { tasks_.release(detail::current_thread()); }
  // The same, from TBB 2020.
  void increment_wait_count() { reserve_wait(); }
  void decrement_wait_count() { release_wait(); }

  // Runs tasks until the graph has none and every reserve_wait has been released. Throws the first
  // exception that a body threw; of several waits that end at the same time, one does. The context
  // is reset, unless the program gave it with task_group_context::concurrent_wait. A node's body
  // must not call it for its own graph.
  void wait_for_all() {
    clear_outcome();
    if (CORBEL_LIKELY(!wait_until_idle())) return;
    struct ending {
      graph& g;
      const bool keeps;
      bool failed;
      ~ending() {
        // This drops no other exception: the context is cancelled until now, so no body begins.
        if (failed && keeps) g.context_->reset();
        g.end_cancelled_wait(failed);
      }
    } ends{*this, (context_->traits() & task_group_context::concurrent_wait) != 0, true};
    // Each throws the exception, if no other thread's wait has taken it.
    if (ends.keeps) {
      detail::rethrow_exception(detail::context_access::node(*context_));
    } else {
      detail::finish_cancelled_group(*context_);
    }
    ends.failed = false;
  }

  // From TBB 2020: starts a task of the graph that calls a copy of `f`; with a receiver, puts what
  // f() returns to it. Throws bad_alloc and what copying `f` throws.
  template <typename F>
  void run(F f) {
    detail::submit(*detail::make_graph_task<function_task<F>>(*this, std::move(f)));
  }
  template <typename Receiver, typename F>
  void run(Receiver& to, F f) {
    run(putter<Receiver, F>{to, std::move(f)});
  }

  // Cancels the graph until the next wait ends: bodies that run continue, messages are dropped.
  void cancel() { context_->cancel_group_execution(); }
  // Return whether the last wait_for_all ended a cancelled graph, or one in which a body threw.
  // relaxed, both: say nothing of other data
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }
  bool exception_thrown() const { return caught_exception_.load(std::memory_order_relaxed); }

  // Brings all nodes into the state after their construction (see reset_flags), the context out of
  // a cancellation, and the graph into the calling thread's arena. No task of the graph may run.
  // Throws bad_alloc and what copying a body throws; the program may call it again then.
  void reset(reset_flags flags = rf_reset_protocol) {
    context_->reset();
    clear_outcome();
    {
      struct activator {
        graph& g;
        ~activator() { g.is_active_ = true; }
      } const activates{*this};
      is_active_ = false;
      for (graph_node* n = nodes_; n != nullptr; n = n->next_) n->reset_node(flags);
      arena_.terminate();
      attach();
    }
    for (graph_node* n = nodes_; n != nullptr; n = n->next_) n->restart_node();
  }

  // The nodes.
  iterator begin() { return iterator(nodes_); }
  iterator end() { return iterator(); }
  const_iterator begin() const { return const_iterator(nodes_); }
  const_iterator end() const { return const_iterator(); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }

  // From TBB 2020; ignored.
  void set_name(const char*) {}

 private:
  friend class graph_node;
  friend struct detail::graph_access;

  template <typename F>
  class function_task : public detail::graph_task_of<function_task<F>> {
   public:
    function_task(graph& g, F&& f) : detail::graph_task_of<function_task<F>>(g), f_(std::move(f)) {}
    graph_task* execute(detail::thread_data&) {
      f_();
      return nullptr;
    }
    graph_task* cancel(detail::thread_data&) { return nullptr; }

   private:
    F f_;
  };

  template <typename Receiver, typename F>
  struct putter {
    Receiver& to;
    F f;
    void operator()() { to.try_put(f()); }
  };

  explicit graph(task_group_context* context) : context_(context != nullptr ? context : &own_) {
    attach();
    outside_.set_context(detail::context_access::node(*context_));
    detail::thread_data& thread = detail::current_thread();
    if (CORBEL_UNLIKELY(context == nullptr && thread.has_floating_point)) {
      detail::context_access::take_floating_point(own_, thread);
    }
  }

  // Makes the calling thread's arena that of the graph.
  void attach() {
    detail::current_thread();  // the thread has an arena
    arena_.initialize(corbel::attach());
  }

  // Runs tasks until there are none; returns whether the context is cancelled.
  bool wait_until_idle() {
    return arena_.execute([this] {
      detail::thread_data& thread = detail::current_thread();
      const detail::call_trace trace(thread);
      detail::context_use use(thread, *context_);
      tasks_.wait(thread, use.node());
      return thread.is_cancelled(use.node());
    });
  }

  // Several waits may end at the same time. One that gets no exception leaves what the one that has
  // got it says: that a body threw.
  void end_cancelled_wait(bool failed) {
    // relaxed, both: as in is_cancelled
    is_cancelled_.store(true, std::memory_order_relaxed);
    if (failed) caught_exception_.store(true, std::memory_order_relaxed);
  }
  void clear_outcome() {
    // relaxed, both: as in is_cancelled
    is_cancelled_.store(false, std::memory_order_relaxed);
    caught_exception_.store(false, std::memory_order_relaxed);
  }

  void add(graph_node& node) {
    const detail::flow_lock lock(nodes_lock_);
    node.previous_ = last_;
    (last_ == nullptr ? nodes_ : last_->next_) = &node;
    last_ = &node;
  }
  void remove(graph_node& node) {
    const detail::flow_lock lock(nodes_lock_);
    (node.previous_ == nullptr ? nodes_ : node.previous_->next_) = node.next_;
    (node.next_ == nullptr ? last_ : node.next_->previous_) = node.previous_;
  }

  detail::group_count tasks_;
  detail::urgent_tasks urgent_;
  detail::outside_tasks outside_;
  task_arena arena_;
  task_group_context own_;
  task_group_context* const context_;
  graph_node* nodes_ = nullptr;
  graph_node* last_ = nullptr;
  detail::spinning_mutex nodes_lock_;
  bool is_active_ = true;
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> caught_exception_{false};
};

inline graph_node::graph_node(graph& g) : my_graph(&g) { g.add(*this); }
inline graph_node::~graph_node() {
  if (my_graph != nullptr) my_graph->remove(*this);
}

}  // namespace flow

namespace detail {

struct graph_access {
  static group_count& tasks(flow::graph& g) { return g.tasks_; }
  static urgent_tasks& urgent(flow::graph& g) { return g.urgent_; }
  static outside_tasks& outside(flow::graph& g) { return g.outside_; }
  static task_group_context& context(flow::graph& g) { return *g.context_; }
  static bool has_own_context(const flow::graph& g) { return g.context_ == &g.own_; }
  static task_arena& arena(flow::graph& g) { return g.arena_; }
  // False while the graph is reset: nodes start no tasks then.
  static bool is_active(const flow::graph& g) { return g.is_active_; }
};

// Runs tasks of the graph's arena until all holds are released. Throws the exception that a body of
// the graph has thrown, which stays in the context for wait_for_all, and bad_alloc.
inline void wait_in_graph(flow::graph& g, const wait_count& holds) {
  graph_access::arena(g).execute([&] {
    thread_data& thread = current_thread();
    const call_trace trace(thread);
    context_use use(thread, graph_access::context(g));
    holds.wait(thread);
    if (CORBEL_UNLIKELY(use.node().has_failed())) rethrow_copy(use.node());
  });
}

// Whether new tasks of the graph will not run.
inline bool is_graph_cancelled(flow::graph& g) {
  return current_thread().is_cancelled(context_access::node(graph_access::context(g)));
}

inline bool is_graph_active(const flow::graph& g) { return graph_access::is_active(g); }

template <typename Derived>
inline graph_task_of<Derived>::graph_task_of(flow::graph& g, flow::node_priority_t p)
    : graph_task(&run, g, p) {
  context = &context_access::node(graph_access::context(g));
}

// Makes a task, which is counted, available to the threads of the graph's arena.
inline void make_available(thread_data& thread, flow::graph& g, task_base& task) {
  arena_handle& arena = handle_of(graph_access::arena(g));
  if (CORBEL_LIKELY(is_in_arena(thread, arena))) {
    spawn(thread, task);
  } else {
    enqueue_in(arena, task);
  }
}

// The same; without memory, runs it here.
inline void make_available_or_run(thread_data& thread, flow::graph& g, task_base& task) noexcept {
  if (CORBEL_UNLIKELY(!succeeds([&] { make_available(thread, g, task); }))) run_any(thread, &task);
}

// Takes the most urgent task of its graph, if there is one.
class selector_task : public task_base {
 public:
  explicit selector_task(graph_task& task) : task_base(&run), graph_(task.owner) {
    context = task.context;
  }

 private:
  static task_base* run(task_base* self, thread_data& thread, bool) {
    selector_task* const selector = static_cast<selector_task*>(self);
    flow::graph& g = selector->graph_;
    delete_task(thread, selector);
    graph_task* const found = graph_access::urgent(g).pop();
    // If there is a task, its own reservation keeps the graph until it has run.
    graph_access::tasks(g).release(thread);
    return found;
  }

  flow::graph& graph_;
};

// Puts a task with a priority, which is counted, into the heap, and returns the selector that is to
// be made available for it. Throws bad_alloc; nothing has changed then.
inline selector_task* put_into_heap(thread_data& thread, graph_task& task) {
  struct keeper {
    thread_data& thread;
    selector_task* kept;
    group_count* count;
    ~keeper() {
      if (CORBEL_LIKELY(kept == nullptr)) return;
      delete_task(thread, kept);
      count->release(thread);  // not the last one: the task is counted
    }
  } keep{thread, new_task<selector_task>(thread, task), &graph_access::tasks(task.owner)};
  selector_task* const selector = keep.kept;
  keep.count->reserve(thread);  // before the task can run and end the graph
  graph_access::urgent(task.owner).push(task);
  keep.kept = nullptr;
  return selector;
}

// Submits a task with a priority, which is counted.
inline void submit_urgent(thread_data& thread, graph_task& task) noexcept {
  flow::graph& g = task.owner;
  task_base* available = &task;
  // Without memory for the heap it is a task like others.
  succeeds([&] { available = put_into_heap(thread, task); });
  make_available_or_run(thread, g, *available);
}

// Exchanges `next`, which has the reservation of the caller, for the most urgent task.
inline graph_task* exchange_urgent(flow::graph& g, graph_task& next) noexcept {
  urgent_tasks& urgent = graph_access::urgent(g);
  return urgent.may_have_some() ? urgent.push_and_pop(next) : &next;
}

inline void submit_counted(thread_data& thread, graph_task& task) noexcept {
  if (CORBEL_UNLIKELY(task.priority != flow::no_priority)) {
    submit_urgent(thread, task);
    return;
  }
  arena_handle& arena = handle_of(graph_access::arena(task.owner));
  if (CORBEL_UNLIKELY(!is_in_arena(thread, arena))) {
    graph_access::outside(task.owner).submit(thread, arena, task);
  } else if (CORBEL_UNLIKELY(!try_spawn(thread, task))) {
    run_any(thread, &task);
  }
}

inline void submit(graph_task& task) noexcept {
  thread_data& thread = current_thread();
  graph_access::tasks(task.owner).reserve(thread);
  submit_counted(thread, task);
}

inline bool try_submit(graph_task& task) noexcept {
  thread_data& thread = current_thread();
  flow::graph& g = task.owner;
  graph_access::tasks(g).reserve(thread);
  bool is_available = false;
  call_captured(context_access::node(graph_access::context(g)), [&] {
    make_available(thread, g, task);
    is_available = true;
  });
  if (CORBEL_UNLIKELY(!is_available)) graph_access::tasks(g).release(thread);
  return is_available;
}

inline bool let_urgent_first(thread_data& thread, graph_task& task, task_base*& next) noexcept {
  urgent_tasks& urgent = graph_access::urgent(task.owner);
  if (CORBEL_LIKELY(!urgent.may_have_some()) || task.priority != flow::no_priority) return false;
  graph_task* const other = urgent.pop();
  if (other == nullptr) return false;
  if (!try_spawn(thread, task)) {
    run_any(thread, other);
    return false;
  }
  next = other;
  return true;
}

inline task_base* end_graph_task(thread_data& thread, flow::graph& g, graph_task* next) noexcept {
  if (CORBEL_LIKELY(is_task(next))) {
    if (CORBEL_LIKELY(&next->owner == &g)) {
      if (CORBEL_LIKELY(next->priority == flow::no_priority)) return next;
      return exchange_urgent(g, *next);
    }
    submit(*next);
  }
  graph_access::tasks(g).release(thread);
  return nullptr;
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_FLOW_GRAPH_HPP
