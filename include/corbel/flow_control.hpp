// SPDX-License-Identifier: Apache-2.0
// How a function that produces items says that there are no more. C++11 and later. Follows the
// oneTBB specification 1.4 (parallel_pipeline, input_node).
#ifndef CORBEL_FLOW_CONTROL_HPP
#define CORBEL_FLOW_CONTROL_HPP

namespace corbel {
namespace detail {
struct flow_control_access;
}  // namespace detail

// Passed to a pipeline's first filter, or to the body of an input_node, which calls stop() to end
// the input.
class flow_control {
 public:
  flow_control(const flow_control&) = delete;
  flow_control& operator=(const flow_control&) = delete;

  // Ends the input: the item that this call returns is dropped, and the function is not called
  // again. If the filter is parallel, items that concurrent calls return are still processed.
  void stop() { stopped_ = true; }

 private:
  friend struct detail::flow_control_access;
  flow_control() = default;
  bool stopped_ = false;
};

namespace detail {

struct flow_control_access {
  flow_control control;
  bool is_stopped() const { return control.stopped_; }
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_FLOW_CONTROL_HPP
