// SPDX-License-Identifier: Apache-2.0
// The exception of a task group that is destroyed before its tasks have ended. C++11 and later.
// Follows the oneTBB specification 1.4.
#ifndef CORBEL_MISSING_WAIT_HPP
#define CORBEL_MISSING_WAIT_HPP

#include <exception>

#include <corbel/detail/config.hpp>

namespace corbel {

class CORBEL_EXPORT_TYPE missing_wait : public std::exception {
 public:
  // A constant string.
  const char* what() const noexcept override {
    return "wait() was not called on a task group that has tasks";
  }
};

}  // namespace corbel

#endif  // CORBEL_MISSING_WAIT_HPP
