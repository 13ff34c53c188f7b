// SPDX-License-Identifier: Apache-2.0
// The common part of input_node and source_node: nodes that make messages one by one. Not for
// programs to include.
//
// At most one task of a node exists at a time (is_running_). It makes a message and pushes it to
// the successors, until there are no more messages or all successors reject one. That one is kept:
// a successor may pull it. A successor that comes while the task pushes may be missed; then the
// task pushes once more (changes_).
#ifndef CORBEL_DETAIL_FLOW_GENERATOR_HPP
#define CORBEL_DETAIL_FLOW_GENERATOR_HPP

#include <cstdint>

#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/pointer_list.hpp>
#include <corbel/detail/flow/successors.hpp>
#include <corbel/detail/manual_lifetime.hpp>

namespace corbel {
namespace detail {

// Any thread may call any public member at any time, except the destructor.
template <typename Output>
class generator : public flow::graph_node, public flow::sender<Output> {
 public:
  using output_type = Output;
  using successor_type = flow::receiver<Output>;

  ~generator() override { drop_item(); }

  // Starts to make messages, once there is a successor; also again, after the end.
  void activate() {
    start_if([this] {
      is_active_ = true;
      has_ended_ = false;
      ++activations_;
      return !successors_.empty();
    });
  }

  // Take the message that was rejected, if there is one; otherwise one is made for the next call.
  bool try_get(Output& message) override {
    return get(message, [this] { drop_item(); });
  }
  bool try_reserve(Output& message) override {
    return get(message, [this] { is_reserved_ = true; });
  }
  // Throws bad_alloc; the reservation has ended then.
  bool try_release() override {
    start_if([this] {
      is_reserved_ = false;
      return !successors_.empty();
    });
    return true;
  }
  // Throws nothing, since the message has been passed on: without memory for the task that makes
  // the next one the graph fails.
  bool try_consume() override {
    call_captured(context_access::node(graph_access::context(*my_graph)), [this] {
      start_if([this] {
        is_reserved_ = false;
        drop_item();
        return !successors_.empty();
      });
    });
    return true;
  }

  bool register_successor(successor_type& to) override {
    successors_.register_successor(*this, to);
    start_if([this] {
      ++changes_;
      return true;
    });
    return true;
  }
  bool remove_successor(successor_type& to) override {
    return successors_.remove_successor(*this, to);
  }
  using flow::sender<Output>::try_get;
  using flow::sender<Output>::try_reserve;

 protected:
  generator(flow::graph& g, bool is_active) : flow::graph_node(g), is_active_(is_active) {}

  // Constructs the next message at `place`; returns false, without one, at the end. May throw.
  virtual bool generate(void* place) = 0;

  // No other thread uses the node.
  void reset_generator(flow::reset_flags flags, bool is_active) {
    if ((flags & flow::rf_clear_edges) != 0) successors_.clear();
    drop_item();
    is_active_ = is_active;
    is_reserved_ = false;
    has_ended_ = false;
  }
  void restart_node() override {
    start_if([this] { return !successors_.empty(); });
  }

 private:
  class generator_task final : public graph_task {
   public:
    explicit generator_task(generator& node)
        : graph_task(&run, *node.my_graph, flow::no_priority), node_(node) {
      context = &context_access::node(graph_access::context(*node.my_graph));
    }

   private:
    static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
      generator_task* const task = static_cast<generator_task*>(self);
      graph_task* next = nullptr;
      if (cancelled) {
        task->node_.stop();
      } else {
        task_base* urgent;
        if (CORBEL_UNLIKELY(let_urgent_first(thread, *task, urgent))) return urgent;
        call_captured(*task->context, [&] { next = task->node_.make_and_push(); });
      }
      if (next != nullptr) return run_next(thread, *task, next);
      flow::graph& g = task->owner;
      delete_task(thread, task);
      return end_graph_task(thread, g, nullptr);
    }

    // Runs `next` and, in parallel or later, this task once more.
    static task_base* run_next(thread_data& thread, generator_task& task, graph_task* next) {
      if (!is_task(next)) return &task;
      // Once it has been spawned, `task` may run and end in another thread.
      flow::graph& g = task.owner;
      graph_access::tasks(g).reserve(thread);
      if (CORBEL_LIKELY(try_spawn(thread, task))) return end_graph_task(thread, g, next);
      graph_access::tasks(g).release(thread);
      submit(*next);
      return &task;
    }

    generator& node_;
  };

  // Makes the change, which returns whether the node may have something to do, and starts the task
  // if that is so.
  template <typename Change>
  void start_if(const Change& change) {
    const outside_call call(current_thread(), *my_graph);
    {
      const flow_lock lock(lock_);
      if (!change() || !may_start()) return;
      is_running_ = true;
    }
    start();
  }

  bool may_start() const {
    return is_active_ && !is_running_ && !is_reserved_ && (has_item_ || !has_ended_) &&
           is_graph_active(*my_graph);
  }

  // Ends the work of the task when it fails.
  struct stopper {
    generator* node;
    ~stopper() {
      if (CORBEL_UNLIKELY(node != nullptr)) node->stop();
    }
  };

  void start() {
    stopper stops{this};
    graph_task* const task = make_graph_task<generator_task>(*this);
    stops.node = nullptr;
    submit(*task);
  }

  // For a task that ends before its work is done.
  void stop() {
    const flow_lock lock(lock_);
    is_running_ = false;
    if (is_pushing_) is_reserved_ = is_pushing_ = false;
  }

  template <typename Taken>
  bool get(Output& message, const Taken& taken) {
    const outside_call call(current_thread(), *my_graph);
    {
      const flow_lock lock(lock_);
      if (is_reserved_) return false;
      if (has_item_) {
        message = item_.get();
        taken();
        return true;
      }
      if (!may_start()) return false;
      is_running_ = true;
    }
    start();
    return false;
  }

  // The work of one run of the task. Returns what the successors have returned; nullptr if the task
  // has ended, and is_running_ is false.
  graph_task* make_and_push() {
    stopper stops{this};
    graph_task* next = nullptr;
    while (next == nullptr) {
      std::uint32_t seen;
      if (!has_message_to_push(seen)) break;
      next = successors_.put_to_all(*this, item_.get(), flow::message_metainfo());
      const flow_lock lock(lock_);
      is_reserved_ = is_pushing_ = false;
      if (next != nullptr) {
        drop_item();
      } else if (changes_ == seen) {
        is_running_ = false;
        break;
      }
    }
    stops.node = nullptr;
    return next;
  }

  // Makes a message if there is none, and reserves it for the task. Otherwise ends the task.
  bool has_message_to_push(std::uint32_t& seen) {
    bool has_made = false;
    for (;;) {
      std::uint32_t activations;
      {
        const flow_lock lock(lock_);
        activations = activations_;
        if (has_made) has_item_ = true;
        if (is_reserved_ || !is_active_ || (!has_item_ && has_ended_)) {
          is_running_ = false;
          return false;
        }
        if (has_item_) {
          is_reserved_ = is_pushing_ = true;
          seen = changes_;
          return true;
        }
      }
      // Only the task stores a message, and there is none.
      has_made = generate(&item_.get());
      if (!has_made) {
        const flow_lock lock(lock_);
        // An activation that came meanwhile begins again.
        if (activations_ == activations) has_ended_ = true;
      }
    }
  }

  void drop_item() {
    if (has_item_) item_.destroy();
    has_item_ = false;
  }

  successor_cache<Output> successors_;
  spinning_mutex lock_;  // protects what follows
  bool is_active_;
  bool is_running_ = false;   // the task exists
  bool has_item_ = false;     // there is a message that no successor has accepted
  bool is_reserved_ = false;  // by a successor or by the task
  bool is_pushing_ = false;   // it is the task that has reserved the message
  bool has_ended_ = false;    // there are no more messages
  std::uint32_t changes_ = 0;
  std::uint32_t activations_ = 0;
  manual_lifetime<Output> item_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_GENERATOR_HPP
