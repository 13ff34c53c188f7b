// SPDX-License-Identifier: Apache-2.0
// A variable that each thread has its own of, to be combined at the end. C++11 upwards; combinable
// of the oneTBB specification.
#ifndef CORBEL_COMBINABLE_HPP
#define CORBEL_COMBINABLE_HPP

#include <type_traits>
#include <utility>

#include <corbel/enumerable_thread_specific.hpp>

namespace corbel {

// What enumerable_thread_specific says of thread safety and of the life of elements holds here too.
template <typename T>
class combinable {
 public:
  // Elements are made by T().
  combinable() = default;
  // Elements are made from what `finit()` returns, which several threads may call at a time.
  template <typename Finit, typename = typename std::enable_if<
                                detail::is_callable<typename std::decay<Finit>::type>::value>::type>
  explicit combinable(Finit finit) : elements_(std::move(finit)) {}

  // Copy or move the elements, which belong to the same threads, and how new ones are made.
  combinable(const combinable&) = default;
  combinable(combinable&&) = default;
  combinable& operator=(const combinable&) = default;
  combinable& operator=(combinable&&) = default;

  // The calling thread's element, made if there is none; `exists` says whether there was.
  T& local() { return elements_.local(); }
  T& local(bool& exists) { return elements_.local(exists); }

  // Destroys all elements.
  void clear() noexcept { elements_.clear(); }

  // f(...f(f(e0, e1), e2)...) of all elements; of one, that one; of none, what a new one would be.
  template <typename Function>
  T combine(Function f) const {
    return elements_.combine(std::move(f));
  }

  // Calls f(element) for each.
  template <typename Function>
  void combine_each(Function f) {
    elements_.combine_each(std::move(f));
  }

 private:
  enumerable_thread_specific<T> elements_;
};

}  // namespace corbel

#endif  // CORBEL_COMBINABLE_HPP
