// SPDX-License-Identifier: Apache-2.0
// parallel_do of classic TBB: parallel_for_each under its earlier name. C++11 upwards.
#ifndef CORBEL_PARALLEL_DO_HPP
#define CORBEL_PARALLEL_DO_HPP

#include <corbel/parallel_for_each.hpp>

namespace corbel {

// What a body gets that may add items: body(item, feeder).
template <typename Item>
using parallel_do_feeder = feeder<Item>;

// As parallel_for_each in all things.
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

#endif  // CORBEL_PARALLEL_DO_HPP
