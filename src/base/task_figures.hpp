// SPDX-License-Identifier: Apache-2.0
// How the scheduler's figures get to the allocator, which answers the corbel command's requests.
// The two libraries do not depend on each other.
#pragma once

#include <cstddef>

namespace corbel {

// Writes a JSON object to `buffer` and returns its length, which is less than `capacity`; 0 when
// the figures cannot be had now. It is called in a signal handler, which may have interrupted
// anything.
using TaskFigures = std::size_t (*)(char* buffer, std::size_t capacity);

namespace alloc {

// Defined by the allocator. The scheduler calls it if the process has the allocator.
__attribute__((visibility("default"))) void provide_task_figures(TaskFigures figures) noexcept;

}  // namespace alloc
}  // namespace corbel
