// SPDX-License-Identifier: Apache-2.0
// The input of the nodes that call a body for each message. Not for programs to include.
//
// Each message becomes a task, which waits in the node if the concurrency limit does not allow it
// to run. It is counted in the graph only when it runs: until then the tasks that have the slots
// keep the graph from being idle. So a thread outside of the graph reserves it before it takes a
// slot. A task that ends passes its slot on, also in a cancelled graph; so the node is free again
// once all its tasks have ended.
#ifndef CORBEL_DETAIL_FLOW_FUNCTION_INPUT_HPP
#define CORBEL_DETAIL_FLOW_FUNCTION_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <corbel/detail/flow/body.hpp>
#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/gates.hpp>
#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/predecessors.hpp>
#include <corbel/flow/messages.hpp>
#include <corbel/flow/policies.hpp>

namespace corbel {
namespace detail {

template <typename Input>
class function_input;

// What a node with this policy does.
template <typename Policy>
struct policy_traits {
  static constexpr bool is_rejecting = std::is_base_of<flow::rejecting, Policy>::value;
  static constexpr bool is_lightweight = std::is_base_of<flow::lightweight, Policy>::value;
};

// A task of a node that calls its body, or only pulls a message.
template <typename Input>
class input_task : public graph_task {
 protected:
  friend class function_input<Input>;
  input_task(function f, function_input<Input>& n);

  // Ends a task whose body has returned `result`.
  static task_base* end(thread_data& thread, function_input<Input>& node, graph_task* result,
                        bool cancelled) {
    flow::graph& g = node.own_graph();
    if (CORBEL_LIKELY(node.gate() == function_input<Input>::kUnlimited)) {
      return end_graph_task(thread, g, result);
    }
    return end_graph_task(thread, g, combine_tasks(result, node.leave(cancelled)));
  }

  function_input<Input>& node_;
};

template <typename Input>
class body_task final : public input_task<Input> {
 public:
  body_task(function_input<Input>& n, const Input& message, const flow::message_metainfo& info)
      : input_task<Input>(&run, n), info_(info), message_(message) {}
  // Without a message, which try_get stores.
  explicit body_task(function_input<Input>& n) : input_task<Input>(&run, n), message_() {}

 private:
  friend class function_input<Input>;

  static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
    body_task* const task = static_cast<body_task*>(self);
    function_input<Input>& node = task->node_;
    graph_task* result = nullptr;
    if (CORBEL_LIKELY(!cancelled)) {
      task_base* urgent;
      if (CORBEL_UNLIKELY(let_urgent_first(thread, *task, urgent))) return urgent;
      call_captured(*task->context, [&] { result = node.process(task->message_, task->info_); });
    }
    // Until the node has been left: a call of try_put_and_wait may return then, and the program
    // destroy the node, or count on a free slot.
    const flow::message_metainfo held(std::move(task->info_));
    delete_task(thread, task);
    return input_task<Input>::end(thread, node, result, cancelled);
  }

  flow::message_metainfo info_;
  Input message_;
};

// Has a slot of the node and no message yet.
template <typename Input>
class pull_task final : public input_task<Input> {
 public:
  explicit pull_task(function_input<Input>& n) : input_task<Input>(&run, n) {}

 private:
  static task_base* run(task_base* self, thread_data& thread, bool cancelled) {
    pull_task* const task = static_cast<pull_task*>(self);
    function_input<Input>& node = task->node_;
    delete_task(thread, task);
    return input_task<Input>::end(thread, node, nullptr, cancelled);
  }
};

// Base of the nodes. Any thread may call any public member at any time, except the destructor.
template <typename Input>
class function_input : public flow::graph_node, public flow::receiver<Input> {
 public:
  using input_type = Input;
  using predecessor_type = flow::sender<Input>;

  graph_task* try_put_task(const Input& message) override {
    return put(message, flow::message_metainfo());
  }
  graph_task* try_put_task(const Input& message, const flow::message_metainfo& info) override {
    return put(message, info);
  }

  bool register_predecessor(predecessor_type& from) override {
    if (gate() != kRejects) return false;
    const outside_call call(current_thread(), own_graph());
    predecessors_.add(from);
    if (gate_.rejects.announce() && !try_spawn_pull()) gate_.rejects.give_back();
    return true;
  }
  bool remove_predecessor(predecessor_type& from) override { return predecessors_.remove(from); }
  flow::node_priority_t priority() const override { return priority_; }
  flow::graph& graph_reference() const override { return flow::graph_node::graph_reference(); }

 protected:
  // `concurrency` 0 is no limit.
  template <typename Policy>
  function_input(flow::graph& g, std::size_t concurrency, tag<Policy>, bool body_is_noexcept,
                 flow::node_priority_t p)
      : flow::graph_node(g),
        kind_(kind_of(concurrency, policy_traits<Policy>::is_rejecting) |
              (policy_traits<Policy>::is_lightweight && body_is_noexcept ? kLightweight : 0)),
        priority_(p),
        limit_(limit_of(concurrency)),
        gate_(kind_ & kGate, limit_) {}
  // A node with the settings of `other`.
  function_input(const function_input& other)
      : flow::graph_node(other.graph_reference()),
        flow::receiver<Input>(),
        kind_(other.kind_),
        priority_(other.priority_),
        limit_(other.limit_),
        gate_(kind_ & kGate, limit_) {}

  // Calls the body and passes on what it returns; returns what try_put_task returns. May throw.
  virtual graph_task* process(const Input& message, const flow::message_metainfo& info) = 0;

  void reset_input(flow::reset_flags flags) {
    if ((flags & flow::rf_clear_edges) != 0) {
      predecessors_.clear();
    } else {
      predecessors_.reset(*this);
    }
  }

 private:
  friend class input_task<Input>;
  friend class body_task<Input>;
  using task = input_task<Input>;

  enum : std::uint8_t { kUnlimited, kSerial, kCounted, kRejects, kGate = 3, kLightweight = 4 };

  static std::uint32_t limit_of(std::size_t concurrency) {
    const std::size_t most = std::size_t{1} << 30;
    return std::uint32_t(concurrency < most ? concurrency : most);
  }
  static std::uint8_t kind_of(std::size_t concurrency, bool is_rejecting) {
    if (concurrency == 0) return kUnlimited;
    if (is_rejecting) return kRejects;
    return concurrency == 1 ? kSerial : kCounted;
  }
  std::uint8_t gate() const { return kind_ & kGate; }

  // All are trivially destructible.
  union gates {
    serial_queue<graph_task> serial;
    counted_queue<graph_task> counted;
    pulling_gate<> rejects;

    gates(std::uint8_t kind, std::uint32_t limit) {
      if (kind == kRejects) {
        ::new (&rejects) pulling_gate<>(limit);
      } else if (kind == kCounted) {
        ::new (&counted) counted_queue<graph_task>(limit);
      } else {
        ::new (&serial) serial_queue<graph_task>();
      }
    }
  };

  flow::graph& own_graph() const { return flow::graph_node::graph_reference(); }

  graph_task* put(const Input& message, const flow::message_metainfo& info) {
    thread_data& thread = current_thread();
    if (kind_ != kUnlimited && !is_inside(thread, own_graph())) {
      return put_from_outside(thread, message, info);
    }
    if (CORBEL_UNLIKELY(kind_ > kSerial)) return put_slow(message, info);
    task* const made = make_graph_task<body_task<Input>>(*this, message, info);
    const bool entered = kind_ == kUnlimited || gate_.serial.enter(*made);
    return CORBEL_LIKELY(entered) ? made : successfully_enqueued();
  }
  CORBEL_NOINLINE graph_task* put_from_outside(thread_data& thread, const Input& message,
                                               const flow::message_metainfo& info) {
    outside_call call(thread, own_graph());
    graph_task* const next = put_slow(message, info);
    return is_task(next) ? call.pass(*next) : next;
  }
  CORBEL_NOINLINE graph_task* put_slow(const Input& message, const flow::message_metainfo& info) {
    if ((kind_ & kLightweight) != 0) {
      if (try_enter()) return process_here(message, info);
      if (gate() == kRejects) return nullptr;
    } else if (gate() == kRejects) {
      return gate_.rejects.try_enter() ? make_entered(message, info) : nullptr;
    }
    task* const made = make_graph_task<body_task<Input>>(*this, message, info);
    const bool entered = gate() == kSerial ? gate_.serial.enter(*made) : gate_.counted.enter(*made);
    return entered ? made : successfully_enqueued();
  }

  bool try_enter() {
    switch (gate()) {
      case kSerial:
        return gate_.serial.try_enter();
      case kCounted:
        return gate_.counted.try_enter();
      case kRejects:
        return gate_.rejects.try_enter();
      default:
        return true;
    }
  }

  // Called by the holder of a slot. Passes it on to the next message and returns its task, or frees
  // it and returns nullptr.
  graph_task* leave(bool cancelled) noexcept {
    switch (gate()) {
      case kSerial:
        return gate_.serial.leave();
      case kCounted:
        return gate_.counted.leave();
      case kRejects:
        return leave_or_pull(cancelled);
      default:
        return nullptr;
    }
  }

  // Leaves at the end of the scope: what was to be done with the slot has failed.
  struct slot_holder {
    function_input* node;
    ~slot_holder() {
      if (CORBEL_UNLIKELY(node != nullptr)) node->leave_after_failure();
    }
  };
  CORBEL_NOINLINE void leave_after_failure() noexcept {
    graph_task* const next = leave(false);
    if (next != nullptr) submit(*next);
  }

  // Makes a task for a message that has a slot.
  graph_task* make_entered(const Input& message, const flow::message_metainfo& info) {
    slot_holder slot{this};
    task* const made = make_graph_task<body_task<Input>>(*this, message, info);
    slot.node = nullptr;
    return made;
  }

  // Processes a message that has a slot.
  graph_task* process_here(const Input& message, const flow::message_metainfo& info) {
    slot_holder slot{this};
    flow::graph& g = own_graph();
    graph_task* result = nullptr;
    const bool cancelled = is_graph_cancelled(g);
    if (!cancelled) result = process(message, info);
    slot.node = nullptr;
    graph_task* const both = combine_tasks(result, leave(cancelled));
    return both != nullptr ? both : successfully_enqueued();
  }

  void spawn_pull() {
    slot_holder slot{this};
    graph_task* const pull = make_graph_task<pull_task<Input>>(*this);
    slot.node = nullptr;
    submit(*pull);
  }
  // Under the lock of a sender.
  bool try_spawn_pull() {
    pull_task<Input>* pull = nullptr;
    call_captured(context_access::node(graph_access::context(own_graph())),
                  [&] { pull = make_graph_task<pull_task<Input>>(*this); });
    if (CORBEL_UNLIKELY(pull == nullptr)) return false;
    if (CORBEL_LIKELY(try_submit(*pull))) return true;
    delete_task(current_thread(), pull);
    return false;
  }

  CORBEL_NOINLINE graph_task* leave_or_pull(bool cancelled) noexcept {
    context_node& context = context_access::node(graph_access::context(own_graph()));
    while (!gate_.rejects.try_leave()) {
      graph_task* pulled = nullptr;
      bool gives_up = true;
      call_captured(context, [&] {
        if (!cancelled) pulled = pull(std::is_default_constructible<Input>());
        gives_up = cancelled;
      });
      if (CORBEL_UNLIKELY(gives_up)) call_captured(context, [&] { predecessors_.reset(*this); });
      if (pulled == nullptr) continue;
      // Others may have left without a look meanwhile, so their slots may be free.
      if (!predecessors_.empty() && gate_.rejects.announce()) {
        call_captured(context, [&] { spawn_pull(); });
      }
      return pulled;
    }
    return nullptr;
  }

  graph_task* pull(std::true_type) {
    struct keeper {
      thread_data& thread;
      body_task<Input>* kept;
      ~keeper() {
        if (kept != nullptr) delete_task(thread, kept);
      }
    } keep{current_thread(), make_graph_task<body_task<Input>>(*this)};
    body_task<Input>* const made = keep.kept;
    if (!predecessors_.get_item(*this, made->message_, made->info_)) return nullptr;
    keep.kept = nullptr;
    return made;
  }
  graph_task* pull(std::false_type) {
    predecessors_.reset(*this);
    return nullptr;
  }

  const std::uint8_t kind_;
  const flow::node_priority_t priority_;
  const std::uint32_t limit_;
  gates gate_;
  predecessor_cache<Input> predecessors_;
};

template <typename Input>
inline input_task<Input>::input_task(function f, function_input<Input>& n)
    : graph_task(f, n.own_graph(), n.priority_), node_(n) {
  this->context = &context_access::node(graph_access::context(this->owner));
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_FUNCTION_INPUT_HPP
