// SPDX-License-Identifier: Apache-2.0
// The flow graph: nodes that pass messages to each other, and work on them in tasks. C++11 and
// later. Follows the oneTBB specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_GRAPH_UMBRELLA_HPP
#define CORBEL_FLOW_GRAPH_UMBRELLA_HPP

#include <tuple>

#include <corbel/flow/async_node.hpp>
#include <corbel/flow/broadcast_node.hpp>
#include <corbel/flow/buffer_node.hpp>
#include <corbel/flow/composite_node.hpp>
#include <corbel/flow/continue_node.hpp>
#include <corbel/flow/continue_receiver.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/edges.hpp>
#include <corbel/flow/function_node.hpp>
#include <corbel/flow/gateway.hpp>
#include <corbel/flow/graph.hpp>
#include <corbel/flow/indexer_node.hpp>
#include <corbel/flow/input_node.hpp>
#include <corbel/flow/join_node.hpp>
#include <corbel/flow/limiter_node.hpp>
#include <corbel/flow/messages.hpp>
#include <corbel/flow/multifunction_node.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/overwrite_node.hpp>
#include <corbel/flow/policies.hpp>
#include <corbel/flow/priority_queue_node.hpp>
#include <corbel/flow/queue_node.hpp>
#include <corbel/flow/resource_limited_node.hpp>
#include <corbel/flow/resource_limiter.hpp>
#include <corbel/flow/sequencer_node.hpp>
#include <corbel/flow/split_node.hpp>
#include <corbel/flow/tagged_msg.hpp>
#include <corbel/flow/write_once_node.hpp>
#include <corbel/flow_control.hpp>

#endif  // CORBEL_FLOW_GRAPH_UMBRELLA_HPP
