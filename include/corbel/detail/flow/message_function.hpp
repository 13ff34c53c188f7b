// SPDX-License-Identifier: Apache-2.0
// A function of the program that computes something of a message: a sequence number or a key. Not
// for programs to include.
#ifndef CORBEL_DETAIL_FLOW_MESSAGE_FUNCTION_HPP
#define CORBEL_DETAIL_FLOW_MESSAGE_FUNCTION_HPP

#include <type_traits>
#include <utility>

#include <corbel/detail/call.hpp>

namespace corbel {
namespace detail {

// Calls f(message), or through a pointer to a member of the message.
template <typename F, typename T>
inline auto call_with_message(F& f, const T& message, std::false_type) -> decltype(f(message)) {
  return f(message);
}
template <typename F, typename T>
inline auto call_with_message(F& f, const T& message, std::true_type)
    -> decltype(detail::call(f, message)) {
  return detail::call(f, message);
}

// Owns a function of type Result(const T&), whatever its own type. Several threads may call it at
// the same time.
template <typename Result, typename T>
class message_function {
 public:
  // Copies `f`. Throws bad_alloc and what copying throws.
  template <typename F, typename = typename std::enable_if<
                            !std::is_base_of<message_function, F>::value>::type>
  explicit message_function(const F& f) : body_(new body_of<typename std::decay<F>::type>(f)) {}
  // Copies the function that `other` was made with, not what has become of it.
  message_function(const message_function& other) : body_(other.body_->renewed()) {}
  message_function& operator=(const message_function&) = delete;
  ~message_function() { delete body_; }

  Result operator()(const T& message) const { return body_->call(message); }

  // Replaces the function by a copy of the one that it was made with.
  void renew() {
    body* const fresh = body_->renewed();
    delete body_;
    body_ = fresh;
  }

 private:
  struct body {
    virtual ~body() {}
    virtual Result call(const T& message) = 0;
    virtual body* renewed() const = 0;
  };
  template <typename F>
  struct body_of : body {
    const F original;
    F current;

    explicit body_of(const F& f) : original(f), current(original) {}
    Result call(const T& message) override {
      return call_with_message(current, message, std::is_member_pointer<F>());
    }
    body* renewed() const override { return new body_of(original); }
  };

  body* body_;
};

}  // namespace detail
}  // namespace corbel

#endif  // CORBEL_DETAIL_FLOW_MESSAGE_FUNCTION_HPP
