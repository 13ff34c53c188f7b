// SPDX-License-Identifier: Apache-2.0
// Resources that nodes of flow graphs share. C++11 and later. Follows the extension "Resource
// Limiting in the Flow Graph" of oneTBB (TBB_PREVIEW_FLOW_GRAPH_RESOURCE_LIMITING).
#ifndef CORBEL_FLOW_RESOURCE_LIMITER_HPP
#define CORBEL_FLOW_RESOURCE_LIMITER_HPP

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include <corbel/detail/flow/resources.hpp>
#include <corbel/detail/index_sequence.hpp>

namespace corbel {
namespace flow {

// Handles of resources, all equal to the nodes that use them. A resource_limited_node holds one
// handle exclusively while it calls its body. A request for several limiters takes all its handles
// at once; on each limiter, requests are granted in their order, so that none starves.
// ResourceHandle can be moved. Must outlive the nodes that use it. There is at least one handle.
template <typename ResourceHandle>
class resource_limiter {
 public:
  using resource_handle_type = ResourceHandle;

  resource_limiter() = delete;

  // A limiter with the handles of a range, of a container, or of a list. Throw bad_alloc and what
  // the constructors of handles throw.
  template <
      typename InputIterator,
      typename = typename std::iterator_traits<InputIterator>::iterator_category,
      typename = typename std::enable_if<std::is_constructible<
          ResourceHandle, typename std::iterator_traits<InputIterator>::reference>::value>::type>
  resource_limiter(InputIterator first, InputIterator last) {
    for (; first != last; ++first) add(*first);
  }
  template <
      typename Container,
      typename = typename std::enable_if<
          !std::is_convertible<Container&&, ResourceHandle>::value &&
          !std::is_base_of<resource_limiter, typename std::decay<Container>::type>::value>::type,
      typename = decltype(std::begin(std::declval<Container&>()))>
  resource_limiter(Container&& handles)
      : resource_limiter(std::begin(handles), std::end(handles)) {}
  template <typename Handle,
            typename = typename std::enable_if<std::is_same<Handle, ResourceHandle>::value &&
                                               std::is_copy_constructible<Handle>::value>::type>
  resource_limiter(std::initializer_list<Handle> handles)
      : resource_limiter(handles.begin(), handles.end()) {}

  // A limiter with the handles given, for handles that cannot be copied.
  template <typename Handle, typename... Handles,
            typename =
                typename std::enable_if<std::is_convertible<Handle&&, ResourceHandle>::value>::type>
  resource_limiter(Handle&& handle, Handles&&... handles) {
    add(std::forward<Handle>(handle));
    const int each[] = {0, (add(std::forward<Handles>(handles)), 0)...};
    static_cast<void>(each);
  }

  // A limiter with one handle for each tuple, constructed from the tuple's elements.
  template <typename... Tuples>
  resource_limiter(std::piecewise_construct_t, Tuples&&... tuples) {
    const int each[] = {0,
                        (add_from(std::forward<Tuples>(tuples),
                                  detail::make_index_sequence<
                                      std::tuple_size<typename std::decay<Tuples>::type>::value>()),
                         0)...};
    static_cast<void>(each);
  }

  resource_limiter(const resource_limiter&) = delete;
  resource_limiter& operator=(const resource_limiter&) = delete;
  // A limiter that no node uses yet can be moved.
  resource_limiter(resource_limiter&& other) noexcept : pool_(std::move(other.pool_)) {}

 private:
  friend struct detail::resource_access;

  template <typename... Arguments>
  void add(Arguments&&... arguments) {
    pool_.add(new detail::resource<ResourceHandle>(std::forward<Arguments>(arguments)...));
  }
  template <typename Tuple, std::size_t... Is>
  void add_from(Tuple&& arguments, detail::index_sequence<Is...>) {
    add(std::get<Is>(std::forward<Tuple>(arguments))...);
  }

  detail::resource_pool pool_;
};

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_RESOURCE_LIMITER_HPP
