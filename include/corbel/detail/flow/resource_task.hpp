// SPDX-License-Identifier: Apache-2.0
// What a resource_limited_node does. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_RESOURCE_TASK_HPP
#define CORBEL_DETAIL_FLOW_RESOURCE_TASK_HPP

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include <corbel/detail/flow/body.hpp>
#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/kept_message.hpp>
#include <corbel/detail/flow/output_port.hpp>
#include <corbel/detail/flow/resources.hpp>
#include <corbel/detail/index_sequence.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

template <typename Input, typename Output>
class resource_node;

// The task of a message. It waits in the node while the concurrency limit is reached, then as a
// request for its resources, then runs.
template <typename Input, typename Output>
class resource_task : public graph_task, public resource_request {
 public:
  using node_type = resource_node<Input, Output>;

  resource_task(node_type& node, const Input& m, const flow::message_metainfo& info,
                resource_ticket* tickets, std::size_t count)
      : graph_task(&run, node.graph_reference(), flow::no_priority),
        resource_request(tickets, count),
        node_(node),
        message_(m),
        info_(info) {
    context = &context_access::node(graph_access::context(owner));
  }

  // Requests the resources; returns whether the task may run now. Otherwise it is submitted later,
  // and keeps the graph from being idle until then.
  bool request(thread_data& thread) {
    group_count& count = graph_access::tasks(owner);
    count.reserve(thread);
    if (!acquire()) return false;
    count.release(thread);
    return true;
  }

 protected:
  virtual void call_body(const Input& message, output_ports<Output>& ports) = 0;
  // Destroys and frees the task.
  virtual void destroy(thread_data& thread) noexcept = 0;

 private:
  void granted() noexcept override {
    flow::graph& g = owner;
    submit(*this);
    graph_access::tasks(g).release(current_thread());
  }

  static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
    resource_task& task = *static_cast<resource_task*>(static_cast<graph_task*>(self));
    node_type& node = task.node_;
    flow::graph& g = task.owner;
    if (CORBEL_LIKELY(!cancelled)) {
      task_base* urgent;
      if (CORBEL_UNLIKELY(let_urgent_first(thread, task, urgent))) return urgent;
      call_captured(*task.context, [&] { task.call(); });
    }
    task.release();
    // Until the node has been left, as in body_task.
    const flow::message_metainfo held(std::move(task.info_));
    task.destroy(thread);
    return end_graph_task(thread, g, node.leave(thread));
  }

  void call() {
    port_set<Output>& ports = node_.ports();
    if (CORBEL_LIKELY(info_.empty())) {
      call_body(message_, ports.tuple);
    } else {
      port_set<Output> tracked(ports, info_);
      call_body(message_, tracked.tuple);
    }
  }

  node_type& node_;
  const Input message_;
  flow::message_metainfo info_;
};

// The body of a node, whatever its type and those of the limiters.
template <typename Input, typename Output>
class resource_body {
 public:
  virtual ~resource_body() {}
  virtual resource_task<Input, Output>* make_task(resource_node<Input, Output>& node,
                                                  const Input& message,
                                                  const flow::message_metainfo& info) = 0;
  // As in node_body.
  virtual resource_body* clone() const = 0;
  virtual void* target() = 0;
};

template <typename Input, typename Output, typename Body, typename... Limiters>
class resource_body_of : public resource_body<Input, Output> {
 public:
  using limiters = std::tuple<Limiters&...>;

  resource_body_of(const limiters& ls, const Body& body)
      : limiters_(ls), initial_(body), current_(body) {}

  resource_task<Input, Output>* make_task(resource_node<Input, Output>& node, const Input& message,
                                          const flow::message_metainfo& info) override {
    return new_task<task>(current_thread(), *this, node, message, info);
  }
  resource_body_of* clone() const override { return new resource_body_of(limiters_, initial_); }
  void* target() override { return &current_; }

 private:
  using indices = make_index_sequence<sizeof...(Limiters)>;

  class task final : public resource_task<Input, Output> {
   public:
    task(resource_body_of& body, resource_node<Input, Output>& node, const Input& message,
         const flow::message_metainfo& info)
        : resource_task<Input, Output>(node, message, info, tickets_, sizeof...(Limiters)),
          body_(body) {
      set_pools(indices());
    }

   private:
    template <std::size_t... Is>
    void set_pools(index_sequence<Is...>) {
      resource_pool* const pools[] = {&resource_access::pool(std::get<Is>(body_.limiters_))...};
      for (std::size_t i = 0; i < sizeof...(Limiters); ++i) {
        tickets_[i].request = this;
        tickets_[i].pool = pools[i];
      }
    }
    void call_body(const Input& message, output_ports<Output>& ports) override {
      call_with(message, ports, indices());
    }
    template <std::size_t... Is>
    void call_with(const Input& message, output_ports<Output>& ports, index_sequence<Is...>) {
      detail::call_body(
          body_.current_, message, ports,
          static_cast<resource<typename Limiters::resource_handle_type>*>(tickets_[Is].granted)
              ->handle...);
    }
    void destroy(thread_data& thread) noexcept override { delete_task(thread, this); }

    resource_body_of& body_;
    resource_ticket tickets_[sizeof...(Limiters)];
  };

  const limiters limiters_;
  const Body initial_;
  Body current_;
};

// The node without its constructor for the program.
template <typename Input, typename Output>
class resource_node : public flow::graph_node, public flow::receiver<Input> {
 public:
  using input_type = Input;
  using output_type = flow::null_type;
  using output_ports_type = detail::output_ports<Output>;
  using predecessor_type = typename flow::receiver<Input>::predecessor_type;

  // The outputs; see also output_port.
  output_ports_type& output_ports() { return ports_.tuple; }

  graph_task* try_put_task(const Input& message) override {
    return try_put_task(message, flow::message_metainfo());
  }
  graph_task* try_put_task(const Input& message, const flow::message_metainfo& info) override {
    task* const made = body_->make_task(*this, message, info);
    thread_data& thread = current_thread();
    outside_call call(thread, graph_reference());
    {
      const flow_lock lock(lock_);
      if (concurrency_ != flow::unlimited && running_ == concurrency_) {
        waiting_.push(made);
        return successfully_enqueued();
      }
      ++running_;
    }
    return made->request(thread) ? call.pass(*made) : successfully_enqueued();
  }
  flow::graph& graph_reference() const override { return graph_node::graph_reference(); }

 protected:
  resource_node(flow::graph& g, std::size_t concurrency, resource_body<Input, Output>* body)
      : graph_node(g), concurrency_(concurrency), ports_(*this), body_(body) {}
  resource_node(const resource_node& other)
      : resource_node(other.graph_reference(), other.concurrency_, other.body_->clone()) {}

  void reset_node(flow::reset_flags flags) override {
    if ((flags & flow::rf_reset_bodies) != 0) body_.reset(body_->clone());
    if ((flags & flow::rf_clear_edges) != 0) ports_.clear();
  }

 private:
  friend class resource_task<Input, Output>;
  friend struct body_access;
  using task = resource_task<Input, Output>;

  port_set<Output>& ports() { return ports_; }

  // Called at the end of a task: returns the task of a message that waits, if it may run now.
  graph_task* leave(thread_data& thread) {
    task* next;
    {
      const flow_lock lock(lock_);
      next = static_cast<task*>(waiting_.pop());
      if (next == nullptr) {
        --running_;
        return nullptr;
      }
    }
    return next->request(thread) ? next : nullptr;
  }

  const std::size_t concurrency_;
  std::size_t running_ = 0;
  linked_fifo<graph_task> waiting_;
  spinning_mutex lock_;
  port_set<Output> ports_;
  std::unique_ptr<resource_body<Input, Output>> body_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_RESOURCE_TASK_HPP
