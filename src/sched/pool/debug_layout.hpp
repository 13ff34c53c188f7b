// SPDX-License-Identifier: Apache-2.0
// The scheduler's debug layout (base/debug_layout.hpp).
#pragma once

#include <corbel/detail/config.hpp>

namespace corbel::sched {

struct SchedulerLayout;
extern CORBEL_EXPORT const SchedulerLayout debug_layout;

}  // namespace corbel::sched
