// SPDX-License-Identifier: Apache-2.0
// parallel_do: the name of parallel_for_each in TBB 2020. C++11 and later.
#ifndef CORBEL_CLASSIC_PARALLEL_DO_HPP
#define CORBEL_CLASSIC_PARALLEL_DO_HPP

#include <corbel/parallel_for_each.hpp>

namespace corbel {

// The second argument of a body that adds items: body(item, feeder).
template <typename Item>
using parallel_do_feeder = feeder<Item>;

// Each calls parallel_for_each, which documents the contract.
template <typename InputIterator, typename Body>
inline void parallel_do(InputIterator first, InputIterator last, const Body& body) {
  corbel::parallel_for_each(first, last, body);
}
template <typename InputIterator, typename Body>
inline void parallel_do(InputIterator first, InputIterator last, const Body& body,
                        task_group_context& context) {
  corbel::parallel_for_each(first, last, body, context);
}
template <typename Container, typename Body>
inline void parallel_do(Container& items, const Body& body) {
  corbel::parallel_for_each(items, body);
}
template <typename Container, typename Body>
inline void parallel_do(const Container& items, const Body& body) {
  corbel::parallel_for_each(items, body);
}
template <typename Container, typename Body>
inline void parallel_do(Container& items, const Body& body, task_group_context& context) {
  corbel::parallel_for_each(items, body, context);
}
template <typename Container, typename Body>
inline void parallel_do(const Container& items, const Body& body, task_group_context& context) {
  corbel::parallel_for_each(items, body, context);
}

}  // namespace corbel

#endif  // CORBEL_CLASSIC_PARALLEL_DO_HPP
