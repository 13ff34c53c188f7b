// SPDX-License-Identifier: Apache-2.0
// The exceptions in which classic TBB carried others from thread to thread. Nothing of these
// headers throws them: what a task throws arrives as it is. They are here for the programs that
// catch them, or throw one of their own. C++11 upwards.
#ifndef CORBEL_CAPTURED_EXCEPTION_HPP
#define CORBEL_CAPTURED_EXCEPTION_HPP

#include <exception>
#include <new>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {

// Can be carried as an object, without being thrown. One thread at a time may use an object.
class CORBEL_EXPORT tbb_exception : public std::exception {
 public:
  // A copy that lives until its destroy(); null if there is no memory.
  virtual tbb_exception* move() noexcept = 0;
  // Ends a copy that move() made.
  virtual void destroy() noexcept = 0;
  // Throws a copy.
  virtual void throw_self() = 0;
  // The type of what was thrown, as the compiler calls it.
  virtual const char* name() const noexcept = 0;
  const char* what() const noexcept override = 0;
};

// The name and the text of an exception.
class CORBEL_EXPORT captured_exception : public tbb_exception {
 public:
  // Null counts as empty. Throws bad_alloc.
  captured_exception(const char* name, const char* info)
      : name_(name != nullptr ? name : ""), info_(info != nullptr ? info : "") {}

  captured_exception* move() noexcept override {
    return new (std::nothrow) captured_exception(*this);
  }
  void destroy() noexcept override { delete this; }
  void throw_self() override { detail::raise(*this); }
  const char* name() const noexcept override { return name_.what(); }
  const char* what() const noexcept override { return info_.what(); }

 private:
  // Strings whose copies throw nothing.
  std::runtime_error name_;
  std::runtime_error info_;
};

// Carries a value of the program's.
template <typename Data>
class movable_exception : public tbb_exception {
 public:
  // Throws what copying the value throws.
  explicit movable_exception(const Data& data) : data_(data) {}

  // The value.
  Data& data() noexcept { return data_; }
  const Data& data() const noexcept { return data_; }

  // Null, too, if copying the value throws.
  movable_exception* move() noexcept override {
#if CORBEL_EXCEPTIONS
    try {
      return new (std::nothrow) movable_exception(*this);
    } catch (...) {
      return nullptr;
    }
#else
    return new (std::nothrow) movable_exception(*this);
#endif
  }
  void destroy() noexcept override { delete this; }
  void throw_self() override { detail::raise(*this); }
  const char* name() const noexcept override {
#if defined(__cpp_rtti) || defined(__GXX_RTTI)
    return typeid(*this).name();
#else
    return "movable_exception";
#endif
  }
  const char* what() const noexcept override { return "a value thrown by the program"; }

 private:
  Data data_;
};

}  // namespace corbel

#endif  // CORBEL_CAPTURED_EXCEPTION_HPP
