// SPDX-License-Identifier: Apache-2.0
// A node that needs resources for each message. C++11 and later. Follows the extension "Resource
// Limiting in the Flow Graph" of oneTBB (TBB_PREVIEW_FLOW_GRAPH_RESOURCE_LIMITING).
#ifndef CORBEL_FLOW_RESOURCE_LIMITED_NODE_HPP
#define CORBEL_FLOW_RESOURCE_LIMITED_NODE_HPP

#include <cstddef>
#include <tuple>
#include <utility>

#include <corbel/detail/flow/resource_task.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/resource_limiter.hpp>

namespace corbel {
namespace flow {

// Calls body(message, ports, handles...) for each message, in tasks of the graph: a
// multifunction_node whose body gets a handle of each of several resource_limiters, exclusively for
// the call. A message waits in the node for its turn, if the concurrency limit is reached, then for
// its resources. Accepts all messages. Output is the std::tuple of the message types of the
// outputs.
//
// An exception of the body cancels the graph; the handles are returned. Any thread may call any
// member at any time, except the constructors and the destructor.
template <typename Input, typename OutputTuple>
class resource_limited_node : public detail::resource_node<Input, OutputTuple> {
  using base = detail::resource_node<Input, OutputTuple>;

 public:
  using output_ports_type = typename base::output_ports_type;

  // `concurrency` may be `unlimited` and `serial`. The limiters, given as by std::tie, must outlive
  // the node; one that is given twice gives two handles. Throws bad_alloc and what copying the body
  // throws.
  template <typename Body, typename... Limiters>
  resource_limited_node(graph& g, std::size_t concurrency, std::tuple<Limiters&...> limiters,
                        Body body)
      : base(g, concurrency,
             new detail::resource_body_of<Input, OutputTuple, Body, Limiters...>(limiters, body)) {}
  // A node with edges from or to the nodes of the set, in their graph.
  template <typename... Set, typename Body, typename... Limiters>
  resource_limited_node(const node_set<Set...>& nodes, std::size_t concurrency,
                        std::tuple<Limiters&...> limiters, Body body)
      : resource_limited_node(nodes.graph_reference(), concurrency, limiters, body) {
    make_edges_in_order(nodes, *this);
  }
  // A node of the same graph with the same settings and limiters, without edges and messages. Its
  // body is a copy of the one that was given to the constructor of `other`.
  resource_limited_node(const resource_limited_node& other) : base(other) {}
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_RESOURCE_LIMITED_NODE_HPP
