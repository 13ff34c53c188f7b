// SPDX-License-Identifier: Apache-2.0
// How work outside of a flow graph returns messages to it. C++11 and later. Follows the oneTBB
// specification 1.4 (GatewayType).
#ifndef CORBEL_FLOW_GATEWAY_HPP
#define CORBEL_FLOW_GATEWAY_HPP

namespace corbel {
namespace flow {

// Base of gateways: keeps the graph from being idle while such work goes on. Any thread may call
// any member at any time.
class graph_proxy {
 public:
  // See graph::reserve_wait and graph::release_wait.
  virtual void reserve_wait() = 0;
  virtual void release_wait() = 0;
  virtual ~graph_proxy() {}
};

// The gateway of an async_node, for results of type T.
template <typename T>
class receiver_gateway : public graph_proxy {
 public:
  using input_type = T;
  // Passes a result to the node's successors; returns false if all of them have rejected it. Throws
  // bad_alloc and what copying the result throws.
  virtual bool try_put(const T& result) = 0;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_GATEWAY_HPP
