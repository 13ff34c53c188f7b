// SPDX-License-Identifier: Apache-2.0
// A message of one of several types, with a tag. C++11 and later. Follows the oneTBB specification
// 1.4.
#ifndef CORBEL_FLOW_TAGGED_MSG_HPP
#define CORBEL_FLOW_TAGGED_MSG_HPP

#include <cstddef>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {
namespace detail {

// What can be done with a value whose type is known only at run time. The address of the object
// stands for the type.
struct value_operations {
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* value);

  template <typename T>
  static void copy_value(void* to, const void* from) {
    ::new (to) T(*static_cast<const T*>(from));
  }
  template <typename T>
  static void destroy_value(void* value) {
    static_cast<T*>(value)->~T();
  }
};
template <typename T>
struct operations_of {
  static const value_operations value;
};
template <typename T>
const value_operations operations_of<T>::value = {&value_operations::copy_value<T>,
                                                  &value_operations::destroy_value<T>};

template <typename T, typename... Ts>
struct is_one_of : std::false_type {};
template <typename T, typename First, typename... Ts>
struct is_one_of<T, First, Ts...>
    : std::integral_constant<bool, std::is_same<T, First>::value || is_one_of<T, Ts...>::value> {};

constexpr std::size_t greatest(std::size_t a) { return a; }
template <typename... Sizes>
constexpr std::size_t greatest(std::size_t a, std::size_t b, Sizes... others) {
  return greatest(a < b ? b : a, others...);
}

}  // namespace detail

namespace flow {

// A value of one of the types TN, which are copyable, and a tag of an unsigned type. Like a value
// of one of its types, no object may be changed by one thread while another one uses it.
template <typename TagType, typename... TN>
class tagged_msg {
 public:
  // A message that holds no value; the greatest possible tag.
  tagged_msg() : tag_(static_cast<TagType>(~TagType(0))) {}
  // A message with a tag and a copy of `value`, which is of one of the types TN. Throws what
  // copying throws.
  template <typename T, typename R>
  tagged_msg(const T& index, const R& value) : tag_(static_cast<TagType>(index)) {
    static_assert(detail::is_one_of<R, TN...>::value, "the value has a type of the message");
    ::new (static_cast<void*>(bytes_)) R(value);
    operations_ = &detail::operations_of<R>::value;
  }
  tagged_msg(const tagged_msg& other) : tag_(other.tag_) { copy_value(other); }
  // If copying the value throws, the message holds none.
  tagged_msg& operator=(const tagged_msg& other) {
    if (this == &other) return *this;
    destroy_value();
    tag_ = other.tag_;
    copy_value(other);
    return *this;
  }
  ~tagged_msg() { destroy_value(); }

  // Return or change the tag.
  TagType tag() const { return tag_; }
  void set_tag(const TagType& tag) { tag_ = tag; }

  // Returns whether the message holds a V.
  template <typename V>
  bool is_a() const {
    static_assert(detail::is_one_of<V, TN...>::value, "the message may have a value of this type");
    return operations_ == &detail::operations_of<V>::value;
  }
  // Returns the value. Throws std::runtime_error if it is no V.
  template <typename V>
  const V& cast_to() const {
    if (!is_a<V>()) detail::raise(std::runtime_error("the tagged_msg holds another type"));
    return *reinterpret_cast<const V*>(bytes_);
  }
  // Returns whether the message has been made without a value.
  bool is_default_constructed() const { return operations_ == nullptr; }

 private:
  void copy_value(const tagged_msg& other) {
    if (other.operations_ == nullptr) return;
    other.operations_->copy(bytes_, other.bytes_);
    operations_ = other.operations_;
  }
  void destroy_value() {
    if (operations_ == nullptr) return;
    operations_->destroy(bytes_);
    operations_ = nullptr;
  }

  TagType tag_;
  const detail::value_operations* operations_ = nullptr;  // nullptr: no value
  alignas(TN...) unsigned char bytes_[detail::greatest(sizeof(TN)...)];
};

// The members of the same names.
template <typename V, typename T>
inline const V& cast_to(const T& message) {
  return message.template cast_to<V>();
}
template <typename V, typename T>
inline bool is_a(const T& message) {
  return message.template is_a<V>();
}

}  // namespace flow
}  // namespace corbel

#endif  // CORBEL_FLOW_TAGGED_MSG_HPP
