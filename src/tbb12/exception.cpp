// SPDX-License-Identifier: Apache-2.0
// The exceptions that programs catch by their types in tbb::detail::r1, and failed
// assertions.
#include <corbel/assertion_handler.hpp>
#include <corbel/detail/context_node.hpp>

#include <new>
#include <stdexcept>

#include "tbb12/layout.hpp"

namespace tbb::detail::r1 {

class CORBEL_TBB12 bad_last_alloc : public std::bad_alloc {
 public:
  const char* what() const noexcept override;
};
class CORBEL_TBB12 user_abort : public std::exception {
 public:
  const char* what() const noexcept override;
};
class CORBEL_TBB12 missing_wait : public std::exception {
 public:
  const char* what() const noexcept override;
};
class CORBEL_TBB12 unsafe_wait : public std::runtime_error {
 public:
  unsafe_wait(const char* what) : std::runtime_error(what) {}
};

const char* bad_last_alloc::what() const noexcept {
  return "an earlier allocation for the container has failed";
}
const char* user_abort::what() const noexcept { return "the wait was aborted"; }
const char* missing_wait::what() const noexcept {
  return "the task group was destroyed before its tasks were waited for";
}

CORBEL_TBB12 void throw_exception(d0::exception_id id) {
  using Id = d0::exception_id;
  if (id == Id::bad_alloc) throw std::bad_alloc();
  if (id == Id::bad_last_alloc) throw bad_last_alloc();
  if (corbel::detail::terminates_on_exception()) std::terminate();
  switch (id) {
    case Id::bad_alloc:
    case Id::bad_last_alloc:
      break;
    case Id::user_abort:
      throw user_abort();
    case Id::missing_wait:
      throw missing_wait();
    case Id::nonpositive_step:
      throw std::invalid_argument("the step is not positive");
    case Id::out_of_range:
      throw std::out_of_range("the index is out of range");
    case Id::reservation_length_error:
      throw std::length_error("the length exceeds what the container can hold");
    case Id::invalid_load_factor:
      throw std::out_of_range("the load factor is out of range");
    case Id::invalid_key:
      throw std::out_of_range("the container has no such key");
    case Id::bad_tagged_msg_cast:
      throw std::runtime_error("the message is of another type");
    case Id::unsafe_wait:
      throw unsafe_wait("the threads of the scheduler could not be waited for");
  }
  throw std::runtime_error("an error of a kind that this libtbb.so.12 does not know");
}

CORBEL_TBB12 void assertion_failure(const char* where, int line, const char* condition,
                                    const char* what) {
  corbel::detail::assertion_failed(where, line, condition, what);
}

using assertion_handler_type = corbel::assertion_handler_type;
CORBEL_TBB12 assertion_handler_type set_assertion_handler(assertion_handler_type handler) {
  return corbel::set_assertion_handler(handler);
}
CORBEL_TBB12 assertion_handler_type get_assertion_handler() {
  return corbel::get_assertion_handler();
}

}  // namespace tbb::detail::r1
