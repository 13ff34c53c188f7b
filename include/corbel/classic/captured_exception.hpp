// SPDX-License-Identifier: Apache-2.0
// The exceptions in which TBB 2020 passed other exceptions between threads. No function of these
// headers throws them, since an exception of a task arrives unchanged. They are for programs that
// catch them, or throw their own. C++11 and later. Follows TBB 2020.
#ifndef CORBEL_CLASSIC_CAPTURED_EXCEPTION_HPP
#define CORBEL_CLASSIC_CAPTURED_EXCEPTION_HPP

#include <exception>
#include <new>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include <corbel/detail/config.hpp>

namespace corbel {

// An exception that can be passed on as an object, without being thrown. One thread at a time may
// use an object.
class CORBEL_EXPORT_TYPE tbb_exception : public std::exception {
 public:
  // Returns a copy that lives until its destroy() is called; nullptr if there is no memory.
  virtual tbb_exception* move() noexcept = 0;
  // Destroys a copy that move() made.
  virtual void destroy() noexcept = 0;
  // Throws a copy.
  virtual void throw_self() = 0;
  // Returns the type name of the original exception, as std::type_info::name gives it.
  virtual const char* name() const noexcept = 0;
  const char* what() const noexcept override = 0;
};

// Holds the type name and the text of an exception.
class CORBEL_EXPORT_TYPE captured_exception : public tbb_exception {
 public:
  // Copies the strings; nullptr counts as an empty string. Throws bad_alloc.
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
  // Used as strings that can be copied without throwing.
  std::runtime_error name_;
  std::runtime_error info_;
};

// Holds a value of the program.
template <typename Data>
class movable_exception : public tbb_exception {
 public:
  // Copies the value. Throws what that throws.
  explicit movable_exception(const Data& data) : data_(data) {}

  // Returns the value.
  Data& data() noexcept { return data_; }
  const Data& data() const noexcept { return data_; }

  // Returns nullptr also if copying the value throws.
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
    return "tbb::movable_exception";
#endif
  }
  const char* what() const noexcept override { return "tbb::movable_exception"; }

 private:
  Data data_;
};

}  // namespace corbel

#endif  // CORBEL_CLASSIC_CAPTURED_EXCEPTION_HPP
