// SPDX-License-Identifier: Apache-2.0
// The two ends of an edge: senders and receivers of messages. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
//
// A message goes over an edge in one of two ways. Push: the sender calls try_put of its successors.
// Pull: the receiver calls try_get, or try_reserve and then try_consume or try_release, of its
// predecessors. An edge begins as push. If the successor rejects a message, and accepts the sender
// as a predecessor (register_predecessor), the edge becomes pull; if the predecessor then has no
// message, it becomes push again (register_successor).
#ifndef CORBEL_FLOW_MESSAGES_HPP
#define CORBEL_FLOW_MESSAGES_HPP

#include <corbel/detail/flow/metainfo.hpp>
#include <corbel/flow/graph.hpp>

namespace corbel {
namespace flow {

// A message without a value: something has ended.
class continue_msg {};

// Stands for no message type.
struct null_type {};

template <typename T>
class receiver;

// What messages of type T come from. Any thread may call any member at any time.
template <typename T>
class sender {
 public:
  using output_type = T;
  using successor_type = receiver<T>;

  virtual ~sender() {}

  // Takes a message and stores it in the argument; returns false if there is none. The default is
  // that there is never one.
  virtual bool try_get(T&) { return false; }
  virtual bool try_get(T& message, message_metainfo&) { return try_get(message); }
  // Like try_get, but the sender keeps the message until try_consume, which removes it, or
  // try_release, which makes it available again. No other call gets a message meanwhile.
  virtual bool try_reserve(T&) { return false; }
  virtual bool try_reserve(T& message, message_metainfo&) { return try_reserve(message); }
  virtual bool try_release() { return false; }
  virtual bool try_consume() { return false; }

  // Adds or removes an edge on which messages are pushed. Returns false if there is no such edge.
  // May throw bad_alloc. Programs use make_edge and remove_edge.
  virtual bool register_successor(successor_type& to) = 0;
  virtual bool remove_successor(successor_type& to) = 0;
};

// What accepts messages of type T. Any thread may call any member at any time.
template <typename T>
class receiver {
 public:
  using input_type = T;
  using predecessor_type = sender<T>;

  virtual ~receiver() {}

  // Gives the receiver a message; returns false if it rejects it. Throws bad_alloc, and what
  // copying the message throws.
  bool try_put(const T& message) { return pass_on(try_put_task(message)); }

  // Gives the receiver a message, then runs tasks until the message and everything that follows
  // from it have been processed, or dropped. Returns false if the message was rejected. Does not
  // wait for other messages of the graph. Throws what try_put throws; also what a body of the graph
  // has thrown, which wait_for_all then throws again. The nodes are done with the message then.
  // Call wait_for_all before you destroy a node that pulls, or to which other messages have come: a
  // task of it may be looking for more.
  bool try_put_and_wait(const T& message);

  // The protocol of nodes. What try_put_task returns: see detail/flow/graph_task.hpp.
  virtual graph_task* try_put_task(const T& message) = 0;
  virtual graph_task* try_put_task(const T& message, const message_metainfo&) {
    return try_put_task(message);
  }
  virtual graph& graph_reference() const = 0;
  // Adds or removes an edge on which messages are pulled; a continue_receiver counts its
  // predecessors. Returns false if the receiver does not pull, or there is no such edge.
  virtual bool register_predecessor(predecessor_type&) { return false; }
  virtual bool remove_predecessor(predecessor_type&) { return false; }
  virtual node_priority_t priority() const { return no_priority; }
  virtual bool is_continue_receiver() { return false; }

 private:
  static bool pass_on(graph_task* next) {
    if (detail::is_task(next)) detail::submit(*next);
    return next != nullptr;
  }
};

// What try_put_task returns of a program's own receiver that has no task.
static graph_task* const SUCCESSFULLY_ENQUEUED = detail::successfully_enqueued();

template <typename T>
inline bool receiver<T>::try_put_and_wait(const T& message) {
  graph& g = graph_reference();
  detail::message_wait wait;
  bool accepted = false;
  {
    // The hold that the wait was made with ends with this object, also if try_put_task throws.
    const message_metainfo held(&wait);
    accepted = pass_on(try_put_task(message, held));
  }
  detail::wait_in_graph(g, wait.holds);
  return accepted;
}

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_MESSAGES_HPP
