// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "alloc/control/reply.hpp"

namespace corbel::alloc {

// "leaks": stops all threads and scans; the content is the report (alloc/leaks/report.hpp).
// "leaks sampled": the same for the blocks that the sampler has recorded, even if all are.
void command_leaks(const char* words, Reply& reply);

}  // namespace corbel::alloc
