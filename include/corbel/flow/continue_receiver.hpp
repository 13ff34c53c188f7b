// SPDX-License-Identifier: Apache-2.0
// A receiver that counts its predecessors' messages. C++11 and later. Follows the oneTBB
// specification 1.4, and TBB 2020 for what only that has.
#ifndef CORBEL_FLOW_CONTINUE_RECEIVER_HPP
#define CORBEL_FLOW_CONTINUE_RECEIVER_HPP

#include <corbel/detail/flow/message_counter.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace flow {

// Calls execute() each time it has got as many messages as it has predecessors; for each message if
// there are none. Any thread may call any member at any time, except the constructors and the
// destructor.
class continue_receiver : public receiver<continue_msg> {
 public:
  // `number_of_predecessors` are counted in addition to the edges.
  explicit continue_receiver(int number_of_predecessors = 0, node_priority_t priority = no_priority)
      : counter_(number_of_predecessors), priority_(priority) {}
  // Copies what was given to the constructor of `other`, not its edges.
  continue_receiver(const continue_receiver& other)
      : receiver<continue_msg>(), counter_(other.counter_.initial()), priority_(other.priority_) {}
  continue_receiver& operator=(const continue_receiver&) = delete;

  // Count an edge.
  bool register_predecessor(predecessor_type&) override {
    counter_.add_predecessor();
    return true;
  }
  bool remove_predecessor(predecessor_type&) override {
    counter_.remove_predecessor();
    return true;
  }

  graph_task* try_put_task(const continue_msg&) override {
    message_metainfo all;
    if (!counter_.count_message(all)) return detail::successfully_enqueued();
    return passed_on(CORBEL_LIKELY(all.empty()) ? execute() : execute(all));
  }
  graph_task* try_put_task(const continue_msg&, const message_metainfo& info) override {
    message_metainfo all;
    if (!counter_.count_message(info, all)) return detail::successfully_enqueued();
    return passed_on(execute(all));
  }
  bool is_continue_receiver() override { return true; }
  node_priority_t priority() const override { return priority_; }

 protected:
  // What follows from the messages. Returns a task, nullptr or detail::successfully_enqueued().
  virtual graph_task* execute() = 0;
  virtual graph_task* execute(const message_metainfo&) { return execute(); }

  // Forgets the messages, and with rf_clear_edges the edges. No other thread uses the object.
  void reset_receiver(reset_flags flags) { counter_.reset((flags & rf_clear_edges) != 0); }

 private:
  static graph_task* passed_on(graph_task* next) {
    return next != nullptr ? next : detail::successfully_enqueued();
  }

  detail::message_counter<> counter_;
  const node_priority_t priority_;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_CONTINUE_RECEIVER_HPP
