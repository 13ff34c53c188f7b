// SPDX-License-Identifier: Apache-2.0
// What the functions of these headers throw besides the exceptions of the standard. C++11 upwards;
// the names of the oneTBB specification, and two of classic TBB.
#ifndef CORBEL_EXCEPTIONS_HPP
#define CORBEL_EXCEPTIONS_HPP

#include <exception>
#include <new>
#include <stdexcept>

#include <corbel/detail/config.hpp>
#include <corbel/missing_wait.hpp>

namespace corbel {

// Visible whatever a program's default is, so that what one shared object throws another catches.

// An earlier attempt to get memory for the same purpose has failed: of a concurrent_vector whose
// last growth threw.
class CORBEL_EXPORT bad_last_alloc : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "an earlier allocation has failed"; }
};

// Waiting has been given up at the wish of the program: of a queue's abort().
class CORBEL_EXPORT user_abort : public std::exception {
 public:
  const char* what() const noexcept override { return "the operation was aborted by the program"; }
};

// tbb::finalize would have to wait for ever.
class CORBEL_EXPORT unsafe_wait : public std::runtime_error {
 public:
  explicit unsafe_wait(const char* what) : std::runtime_error(what) {}
};

// Of classic TBB: its holder wants a lock again that notices (critical_section,
// reader_writer_lock).
class CORBEL_EXPORT improper_lock : public std::exception {
 public:
  const char* what() const noexcept override { return "a lock is taken that is held already"; }
};
// Of classic TBB, where a task_handle was run twice. Nothing of these headers throws it.
class CORBEL_EXPORT invalid_multiple_scheduling : public std::exception {
 public:
  const char* what() const noexcept override { return "a task_handle is run more than once"; }
};

}  // namespace corbel

#endif  // CORBEL_EXCEPTIONS_HPP
