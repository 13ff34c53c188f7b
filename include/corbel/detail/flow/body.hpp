// SPDX-License-Identifier: Apache-2.0
// The bodies of nodes: function objects of any type. Not for programs to include.
#ifndef CORBEL_DETAIL_FLOW_BODY_HPP
#define CORBEL_DETAIL_FLOW_BODY_HPP

#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>
#include <corbel/detail/config.hpp>
#include <corbel/flow/messages.hpp>

namespace corbel {
namespace detail {

// Calls a body, which may change itself, with std::invoke's rules.
template <typename F, typename... Args,
          typename std::enable_if<!std::is_member_pointer<F>::value, int>::type = 0>
inline auto call_body(F& f, Args&&... args) noexcept(noexcept(f(std::forward<Args>(args)...)))
    -> decltype(f(std::forward<Args>(args)...)) {
  return f(std::forward<Args>(args)...);
}
template <typename F, typename... Args,
          typename std::enable_if<std::is_member_pointer<F>::value, int>::type = 0>
inline auto call_body(F& f, Args&&... args)
    -> decltype(detail::call(f, std::forward<Args>(args)...)) {
  return detail::call(f, std::forward<Args>(args)...);
}

// Calls a body for its result, a message. For continue_msg the body may return anything.
template <typename Output>
struct body_result {
  template <typename F, typename... Args>
  static Output get(F& f, Args&&... args) {
    return call_body(f, std::forward<Args>(args)...);
  }
};
template <>
struct body_result<flow::continue_msg> {
  template <typename F, typename... Args>
  static flow::continue_msg get(F& f, Args&&... args) {
    call_body(f, std::forward<Args>(args)...);
    return flow::continue_msg();
  }
};
template <>
struct body_result<void> {
  template <typename F, typename... Args>
  static void get(F& f, Args&&... args) {
    call_body(f, std::forward<Args>(args)...);
  }
};

// A body, and the copy that a reset restores. Made by make_body, deleted by its owner.
template <typename Result, typename... Args>
class node_body {
 public:
  virtual ~node_body() {}
  virtual Result call(Args... args) = 0;
  // A new body of the same kind, as it was given to the constructor of the node. Throws bad_alloc
  // and what copying the body throws.
  virtual node_body* clone() const = 0;
  // Whether calls are known to throw nothing.
  virtual bool is_noexcept() const = 0;
  // The function object. Its type must be that given to the constructor.
  virtual void* target() = 0;
};

template <typename F, typename Result, typename... Args>
class node_body_of : public node_body<Result, Args...> {
 public:
  explicit node_body_of(const F& f) : initial_(f), current_(f) {}
  Result call(Args... args) override {
    return body_result<Result>::get(current_, std::forward<Args>(args)...);
  }
  node_body_of* clone() const override { return new node_body_of(initial_); }
  bool is_noexcept() const override {
    return noexcept(call_body(std::declval<F&>(), std::declval<Args>()...));
  }
  void* target() override { return &current_; }

 private:
  const F initial_;
  F current_;
};

// Names a type as an argument.
template <typename T>
struct tag {};

// Owns a body.
template <typename Result, typename... Args>
class body_holder {
 public:
  using body = node_body<Result, Args...>;
  template <typename F>
  using body_of = node_body_of<F, Result, Args...>;

  // Throws bad_alloc and what copying the function object throws.
  template <typename F>
  explicit body_holder(tag<F>, const F& f) : body_(new body_of<F>(f)) {}
  // A copy of the body that was given to the constructor of the other.
  body_holder(const body_holder& other) : body_(other.body_->clone()) {}
  body_holder(body_holder&& other) noexcept : body_(other.body_) { other.body_ = nullptr; }
  body_holder& operator=(const body_holder&) = delete;
  ~body_holder() { delete body_; }

  body* operator->() const { return body_; }

  // Makes the body what it was when it was given to the constructor of the node. Strong guarantee.
  void reset() {
    body* const fresh = body_->clone();
    delete body_;
    body_ = fresh;
  }

 private:
  body* body_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_BODY_HPP
