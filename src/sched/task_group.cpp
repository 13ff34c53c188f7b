// SPDX-License-Identifier: Apache-2.0
#include <corbel/task_group.hpp>

#include <exception>
#include <utility>

namespace corbel::detail {

bool is_unwinding() noexcept { return std::uncaught_exceptions() > 0; }

bool finish_cancelled_group(task_group_context& context) {
  // Another one who waits may have been faster.
  if (std::exception_ptr error = context_access::renew(context)) {
    std::rethrow_exception(std::move(error));
  }
  return true;
}

}  // namespace corbel::detail
