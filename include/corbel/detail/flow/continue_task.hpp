// SPDX-License-Identifier: Apache-2.0
// A task that calls the body of a continue_node. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_CONTINUE_TASK_HPP
#define CORBEL_DETAIL_FLOW_CONTINUE_TASK_HPP

#include <corbel/detail/flow/graph_task.hpp>
#include <corbel/detail/flow/metainfo.hpp>

namespace corbel {
namespace detail {

// The default of a node that has no policy.
struct no_policy {};

template <typename Node>
class continue_task final : public graph_task_of<continue_task<Node>> {
 public:
  continue_task(Node& node, flow::graph& g, flow::node_priority_t p,
                const flow::message_metainfo& info)
      : graph_task_of<continue_task<Node>>(g, p), node_(node), info_(info) {}

  graph_task* execute(thread_data&) { return node_.process(info_); }
  graph_task* cancel(thread_data&) { return nullptr; }

 private:
  Node& node_;
  const flow::message_metainfo info_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_CONTINUE_TASK_HPP
