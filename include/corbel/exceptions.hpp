// SPDX-License-Identifier: Apache-2.0
// The exceptions of these headers beyond those of the standard. C++11 and later. The names are
// those of the oneTBB specification 1.4, and two of TBB 2020.
#ifndef CORBEL_EXCEPTIONS_HPP
#define CORBEL_EXCEPTIONS_HPP

#include <exception>
#include <new>
#include <stdexcept>

#include <corbel/detail/config.hpp>
#include <corbel/missing_wait.hpp>

namespace corbel {

// All are exported whatever -fvisibility the program uses, so that one shared object can catch what
// another throws.

// For containers: an earlier allocation for the same object has failed, as in a concurrent_vector
// whose last growth threw.
class CORBEL_EXPORT_TYPE bad_last_alloc : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "an earlier allocation has failed"; }
};

// Thrown to a thread whose wait the program has ended, as abort() of a queue does.
class CORBEL_EXPORT_TYPE user_abort : public std::exception {
 public:
  const char* what() const noexcept override { return "the operation was aborted by the program"; }
};

// finalize of a task_scheduler_handle could not wait for the threads; see there for the reasons.
class CORBEL_EXPORT_TYPE unsafe_wait : public std::runtime_error {
 public:
  explicit unsafe_wait(const char* what) : std::runtime_error(what) {}
};

// From TBB 2020: a thread locks a critical_section or a reader_writer_lock that it holds already.
class CORBEL_EXPORT_TYPE improper_lock : public std::exception {
 public:
  const char* what() const noexcept override { return "a lock is taken that is held already"; }
};
// From TBB 2020, for a task_handle that is run twice. No function of these headers throws it.
class CORBEL_EXPORT_TYPE invalid_multiple_scheduling : public std::exception {
 public:
  const char* what() const noexcept override { return "a task_handle is run more than once"; }
};

}  // namespace corbel

#endif  // CORBEL_EXCEPTIONS_HPP
