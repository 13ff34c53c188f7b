// SPDX-License-Identifier: Apache-2.0
// How external threads come and go.
#pragma once

namespace corbel::sched {

// Detaches the calling thread, which must be outside of all tasks. When it next uses the library it
// is attached again, with an arena of that width; 0: the default width.
void restart_thread(unsigned width);

}  // namespace corbel::sched
