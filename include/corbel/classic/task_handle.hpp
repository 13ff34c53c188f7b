// SPDX-License-Identifier: Apache-2.0
// The task handle of TBB 2020, which is a template. In oneTBB task_handle is a class, and a name
// cannot be both: tbb::task_handle is the template only in programs that define
// TBB_CLASSIC_TASK_HANDLE as nonzero before they include the first header. Files with and without
// the macro may be linked. C++11 and later.
#ifndef CORBEL_CLASSIC_TASK_HANDLE_HPP
#define CORBEL_CLASSIC_TASK_HANDLE_HPP

#include <corbel/task_group.hpp>

// "+ 0": a macro that is defined as empty counts as 0.
#if defined(TBB_CLASSIC_TASK_HANDLE)
#define CORBEL_CLASSIC_TASK_HANDLE (TBB_CLASSIC_TASK_HANDLE + 0)
#else
#define CORBEL_CLASSIC_TASK_HANDLE 0
#endif

namespace corbel {
namespace classic {

// What make_task returns.
template <typename F>
using task_handle = structured_task_handle<F>;

}  // namespace classic
}  // namespace corbel

#endif  // CORBEL_CLASSIC_TASK_HANDLE_HPP
