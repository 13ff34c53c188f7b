// SPDX-License-Identifier: Apache-2.0
// Thread-local storage whose elements are combined at the end. C++11 and later. Follows the oneTBB
// specification 1.4 (combinable).
#ifndef CORBEL_COMBINABLE_HPP
#define CORBEL_COMBINABLE_HPP

#include <type_traits>
#include <utility>

#include <corbel/enumerable_thread_specific.hpp>

namespace corbel {

// An enumerable_thread_specific<T> with a smaller interface; its rules on thread safety, on errors
// and on the lifetime of elements apply.
template <typename T>
class combinable {
 public:
  // Makes elements by T().
  combinable() = default;
  // Makes elements from what `finit()` returns. Several threads may call `finit` at the same time.
  template <typename Finit, typename = typename std::enable_if<
                                detail::is_callable<typename std::decay<Finit>::type>::value>::type>
  explicit combinable(Finit finit) : elements_(std::move(finit)) {}

  // Copy or move the elements, each for its thread, and how new elements are made.
  combinable(const combinable&) = default;
  combinable(combinable&&) = default;
  combinable& operator=(const combinable&) = default;
  combinable& operator=(combinable&&) = default;

  // Returns the calling thread's element, which it makes if there is none. Sets `exists` to whether
  // the element existed before.
  T& local() { return elements_.local(); }
  T& local(bool& exists) { return elements_.local(exists); }

  // Destroys all elements.
  void clear() noexcept { elements_.clear(); }

  // Returns f(...f(f(e0, e1), e2)...) over all elements; the element if there is only one; a new
  // element, not stored, if there is none.
  template <typename Function>
  T combine(Function f) const {
    return elements_.combine(std::move(f));
  }

  // Calls f(element) for each element.
  template <typename Function>
  void combine_each(Function f) {
    elements_.combine_each(std::move(f));
  }

 private:
  enumerable_thread_specific<T> elements_;
};

}  // namespace corbel

#endif  // CORBEL_COMBINABLE_HPP
