// SPDX-License-Identifier: Apache-2.0
// What join nodes do, by policy. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_JOIN_CORES_HPP
#define CORBEL_DETAIL_FLOW_JOIN_CORES_HPP

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <corbel/detail/flow/body.hpp>
#include <corbel/detail/flow/join_ports.hpp>
#include <corbel/detail/flow/join_rows.hpp>
#include <corbel/detail/flow/output_buffer.hpp>

namespace corbel {
namespace detail {

// Tuples are put together in the order of an output buffer.
template <typename Tuple, typename Order>
class buffering_join {
 public:
  buffering_join(flow::graph& g, flow::sender<Tuple>& output) : buffer_(g, output) {}

  flow::graph& graph() const { return buffer_.graph(); }

  // Ports of this kind do not pull.
  template <std::size_t I, typename Sender>
  bool add_predecessor(Sender&) {
    return false;
  }
  template <std::size_t I, typename Sender>
  bool remove_predecessor(Sender&) {
    return false;
  }
  bool add_successor(flow::receiver<Tuple>& to) { return buffer_.add_successor(to); }
  bool remove_successor(flow::receiver<Tuple>& to) { return buffer_.remove_successor(to); }
  bool get(Tuple& v, flow::message_metainfo* info) { return buffer_.get(v, info); }
  template <typename Ports>
  void reset(Ports&, flow::reset_flags flags) {
    buffer_.reset(flags);
  }

 protected:
  output_buffer<Tuple, Order, true> buffer_;
};

template <typename Tuple>
class queueing_join : public buffering_join<Tuple, queueing_order<Tuple>> {
 public:
  using buffering_join<Tuple, queueing_order<Tuple>>::buffering_join;

  template <std::size_t I, typename T>
  graph_task* put(const T& message, const flow::message_metainfo& info) {
    return this->buffer_.put(
        [&](queueing_order<Tuple>& order) { return order.template push<I>(message, info); });
  }
};

// The functions of the ports return a K: a value, or a reference to a constant.
template <typename Tuple, typename K, typename HashCompare>
class keyed_join;
template <typename... Ts, typename K, typename HashCompare>
class keyed_join<std::tuple<Ts...>, K, HashCompare>
    : public buffering_join<
          std::tuple<Ts...>,
          keyed_order<std::tuple<Ts...>, typename std::decay<K>::type, HashCompare>> {
  using key = typename std::decay<K>::type;
  using order = keyed_order<std::tuple<Ts...>, key, HashCompare>;
  using base = buffering_join<std::tuple<Ts...>, order>;

 public:
  using result = typename std::conditional<std::is_reference<K>::value, const key&, key>::type;
  template <typename T>
  using function = body_holder<result, const T&>;
  using functions = std::tuple<function<Ts>...>;

  keyed_join(flow::graph& g, flow::sender<std::tuple<Ts...>>& output, const functions& fs)
      : base(g, output), functions_(fs) {}

  const functions& key_functions() const { return functions_; }

  template <std::size_t I, typename T>
  graph_task* put(const T& message, const flow::message_metainfo& info) {
    const key& k = std::get<I>(functions_)->call(message);
    const std::size_t hash = hash_compare_.hash(k);
    return this->buffer_.put([&](order& o) { return o.template push<I>(message, info, k, hash); });
  }

  template <typename Ports>
  void reset(Ports& ports, flow::reset_flags flags) {
    base::reset(ports, flags);
    resetter resets{*this};
    if ((flags & flow::rf_reset_bodies) != 0) each_index<0, sizeof...(Ts)>::all(resets);
  }

 private:
  struct resetter {
    keyed_join& join;
    template <std::size_t I>
    bool call() {
      std::get<I>(join.functions_).reset();
      return true;
    }
  };

  functions functions_;
  HashCompare hash_compare_{};
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_JOIN_CORES_HPP
