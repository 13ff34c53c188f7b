// SPDX-License-Identifier: Apache-2.0
// Access to the body of a node. C++11 and later. Follows the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_COPY_BODY_HPP
#define CORBEL_FLOW_COPY_BODY_HPP

namespace corbel {
namespace detail {

struct body_access {
  template <typename Body, typename Node>
  static const Body& get(const Node& node) {
    return *static_cast<const Body*>(node.body_->target());
  }
};

}  // namespace detail

namespace flow {

// Returns a copy of the node's body, whose type must be Body. No task of the node may run. Throws
// what copying the body throws.
template <typename Body, typename Node>
inline Body copy_body(const Node& node) {
  return detail::body_access::get<Body>(node);
}

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_COPY_BODY_HPP
