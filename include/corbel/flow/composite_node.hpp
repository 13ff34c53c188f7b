// SPDX-License-Identifier: Apache-2.0
// A node that stands for several others. C++11 and later. Follows the oneTBB specification 1.4, and
// TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_COMPOSITE_NODE_HPP
#define CORBEL_FLOW_COMPOSITE_NODE_HPP

#include <memory>
#include <tuple>

#include <corbel/flow/edges.hpp>

namespace corbel {
namespace detail {

// What all composite nodes have.
class composite_base : public flow::graph_node {
 public:
  explicit composite_base(flow::graph& g) : graph_node(g) {}

  // From TBB 2020, for tools: names the nodes inside. Do nothing.
  template <typename... Nodes>
  void add_visible_nodes(const Nodes&...) {}
  template <typename... Nodes>
  void add_nodes(const Nodes&...) {}

 protected:
  void reset_node(flow::reset_flags) override {}
};

}  // namespace detail

namespace flow {

template <typename InputTuple, typename OutputTuple>
class composite_node;

// References to ports of other nodes, so that these can be connected as if they were one node. The
// program keeps the other nodes, usually as members of a derived class. The references are set
// once, by set_external_ports, before any other use; no thread may use them meanwhile. Throws
// bad_alloc.
template <typename... InputTypes, typename... OutputTypes>
class composite_node<std::tuple<InputTypes...>, std::tuple<OutputTypes...>>
    : public detail::composite_base {
 public:
  using input_ports_type = std::tuple<receiver<InputTypes>&...>;
  using output_ports_type = std::tuple<sender<OutputTypes>&...>;

  explicit composite_node(graph& g) : composite_base(g) {}
  // From TBB 2020; the name is ignored.
  composite_node(graph& g, const char*) : composite_base(g) {}

  void set_external_ports(input_ports_type&& inputs, output_ports_type&& outputs) {
    inputs_.reset(new input_ports_type(inputs));
    outputs_.reset(new output_ports_type(outputs));
  }
  void set_external_ports(const input_ports_type& inputs, const output_ports_type& outputs) {
    set_external_ports(input_ports_type(inputs), output_ports_type(outputs));
  }

  // The ports. See flow::input_port and flow::output_port.
  input_ports_type& input_ports() {
    CORBEL_ASSERT(inputs_ != nullptr, "set_external_ports has not been called");
    return *inputs_;
  }
  output_ports_type& output_ports() {
    CORBEL_ASSERT(outputs_ != nullptr, "set_external_ports has not been called");
    return *outputs_;
  }

 private:
  std::unique_ptr<input_ports_type> inputs_;
  std::unique_ptr<output_ports_type> outputs_;
};

// Without outputs; see above.
template <typename... InputTypes>
class composite_node<std::tuple<InputTypes...>, std::tuple<>> : public detail::composite_base {
 public:
  using input_ports_type = std::tuple<receiver<InputTypes>&...>;

  explicit composite_node(graph& g) : composite_base(g) {}
  composite_node(graph& g, const char*) : composite_base(g) {}

  void set_external_ports(input_ports_type&& inputs) {
    inputs_.reset(new input_ports_type(inputs));
  }
  void set_external_ports(const input_ports_type& inputs) {
    set_external_ports(input_ports_type(inputs));
  }
  input_ports_type& input_ports() {
    CORBEL_ASSERT(inputs_ != nullptr, "set_external_ports has not been called");
    return *inputs_;
  }

 private:
  std::unique_ptr<input_ports_type> inputs_;
};

// Without inputs; see above.
template <typename... OutputTypes>
class composite_node<std::tuple<>, std::tuple<OutputTypes...>> : public detail::composite_base {
 public:
  using output_ports_type = std::tuple<sender<OutputTypes>&...>;

  explicit composite_node(graph& g) : composite_base(g) {}
  composite_node(graph& g, const char*) : composite_base(g) {}

  void set_external_ports(output_ports_type&& outputs) {
    outputs_.reset(new output_ports_type(outputs));
  }
  void set_external_ports(const output_ports_type& outputs) {
    set_external_ports(output_ports_type(outputs));
  }
  output_ports_type& output_ports() {
    CORBEL_ASSERT(outputs_ != nullptr, "set_external_ports has not been called");
    return *outputs_;
  }

 private:
  std::unique_ptr<output_ports_type> outputs_;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_COMPOSITE_NODE_HPP
