// SPDX-License-Identifier: Apache-2.0
// The output ports of nodes that have several. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_OUTPUT_PORTS_HPP
#define CORBEL_DETAIL_FLOW_OUTPUT_PORTS_HPP

#include <cstddef>
#include <tuple>

#include <corbel/detail/flow/forwarder.hpp>
#include <corbel/detail/flow/join_ports.hpp>
#include <corbel/detail/flow/node_output.hpp>

namespace corbel {
namespace detail {

template <typename T>
class output_port_of : public node_output<T> {
 public:
  output_port_of() = default;

  // As try_put_task of a node that accepts all messages; nullptr if no successor has accepted it.
  graph_task* put(const T& message, const flow::message_metainfo& info) {
    return this->put_to_all(message, info);
  }
  void clear() { this->clear_successors(); }
};

struct port_clearer {
  template <typename Ports>
  struct of {
    Ports& ports;
    template <std::size_t I>
    bool call() {
      std::get<I>(ports).clear();
      return true;
    }
  };
};

// Removes the edges of all ports of a tuple.
template <typename Ports>
inline void clear_ports(Ports& ports) {
  port_clearer::of<Ports> clears{ports};
  each_index<0, std::tuple_size<Ports>::value>::all(clears);
}

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_OUTPUT_PORTS_HPP
