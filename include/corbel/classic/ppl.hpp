// SPDX-License-Identifier: Apache-2.0
// What TBB 2020 had of Microsoft's Parallel Patterns Library, in the namespace Concurrency. C++11
// and later. Needs libcorbel.
#ifndef CORBEL_CLASSIC_PPL_HPP
#define CORBEL_CLASSIC_PPL_HPP

#include <corbel/classic/critical_section.hpp>
#include <corbel/classic/reader_writer_lock.hpp>
#include <corbel/classic/task_handle.hpp>
#include <corbel/combinable.hpp>
#include <corbel/exceptions.hpp>
#include <corbel/parallel_for.hpp>
#include <corbel/parallel_for_each.hpp>
#include <corbel/parallel_invoke.hpp>
#include <corbel/task_group.hpp>
#include <corbel/task_group_context.hpp>

namespace Concurrency {
using corbel::canceled;
using corbel::combinable;
using corbel::complete;
using corbel::critical_section;
using corbel::improper_lock;
using corbel::invalid_multiple_scheduling;
using corbel::is_current_task_group_canceling;
using corbel::make_task;
using corbel::missing_wait;
using corbel::not_complete;
using corbel::parallel_for;
using corbel::parallel_for_each;
using corbel::parallel_invoke;
using corbel::reader_writer_lock;
using corbel::structured_task_group;
using corbel::task_group;
using corbel::task_group_status;
using corbel::classic::task_handle;
}  // namespace Concurrency

#endif  // CORBEL_CLASSIC_PPL_HPP
