// SPDX-License-Identifier: Apache-2.0
// The flow graph: nodes that pass messages to each other, and work on them in tasks. C++11 and
// later. Follows the oneTBB specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_GRAPH_UMBRELLA_HPP
#define CORBEL_FLOW_GRAPH_UMBRELLA_HPP

#include <corbel/flow/async_node.hpp>
#include <corbel/flow/broadcast_node.hpp>
#include <corbel/flow/continue_node.hpp>
#include <corbel/flow/continue_receiver.hpp>
#include <corbel/flow/copy_body.hpp>
#include <corbel/flow/edges.hpp>
#include <corbel/flow/function_node.hpp>
#include <corbel/flow/gateway.hpp>
#include <corbel/flow/graph.hpp>
#include <corbel/flow/input_node.hpp>
#include <corbel/flow/messages.hpp>
#include <corbel/flow/multifunction_node.hpp>
#include <corbel/flow/node_set.hpp>
#include <corbel/flow/policies.hpp>
#include <corbel/flow_control.hpp>

#endif  // CORBEL_FLOW_GRAPH_UMBRELLA_HPP
