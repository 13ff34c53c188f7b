// SPDX-License-Identifier: Apache-2.0
// The output of nodes that keep no messages. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_NODE_OUTPUT_HPP
#define CORBEL_DETAIL_FLOW_NODE_OUTPUT_HPP

#include <corbel/detail/flow/successors.hpp>

namespace corbel {
namespace detail {

// Any thread may call any public member at any time, except the destructor.
template <typename T>
class node_output : public flow::sender<T> {
 public:
  using output_type = T;
  using successor_type = flow::receiver<T>;

  bool register_successor(successor_type& to) override {
    return successors_.register_successor(*this, to);
  }
  bool remove_successor(successor_type& to) override {
    return successors_.remove_successor(*this, to);
  }

 protected:
  node_output() = default;
  // A new output, without edges.
  node_output(const node_output&) : flow::sender<T>() {}

  graph_task* put_to_all(const T& message, const flow::message_metainfo& info) {
    return successors_.put_to_all(*this, message, info);
  }
  bool has_successors() const { return !successors_.empty(); }
  void clear_successors() { successors_.clear(); }

 private:
  successor_cache<T> successors_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_NODE_OUTPUT_HPP
