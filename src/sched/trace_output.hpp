// SPDX-License-Identifier: Apache-2.0
// What becomes of the books: read at exit, written as CORBEL_TRACE says.
#pragma once

#include "sched/trace.hpp"

namespace corbel::sched::trace {

bool is_on();
bool wants_timeline();

// Makes a book known to the one who writes at exit. Books are never freed: their threads may write
// until the very end.
void publish(Book& book);

}  // namespace corbel::sched::trace
