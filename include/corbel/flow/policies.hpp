// SPDX-License-Identifier: Apache-2.0
// Policies: what nodes do with messages that they cannot work on at once. C++11 and later. Follows
// the oneTBB specification 1.4.
#ifndef CORBEL_FLOW_POLICIES_HPP
#define CORBEL_FLOW_POLICIES_HPP

namespace corbel {
namespace flow {

// The node keeps the messages, first in, first out.
struct queueing {};
// The node rejects the messages, and pulls when it can.
struct rejecting {};
// A join_node takes messages from its predecessors only when all inputs have one.
struct reserving {};
// In addition to one of the others: the body is short, so the node calls it in the thread that puts
// a message, without a task, if the concurrency limit allows that and the body is noexcept. Alone,
// means queueing_lightweight.
struct lightweight {};
struct queueing_lightweight : queueing, lightweight {};
struct rejecting_lightweight : rejecting, lightweight {};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_POLICIES_HPP
