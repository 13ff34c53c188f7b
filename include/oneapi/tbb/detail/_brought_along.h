// SPDX-License-Identifier: Apache-2.0
// Included by the headers that both TBB versions have and that brought tbb::task along in TBB 2020.
// They still do in a source file that is known to be written for TBB 2020: TBB_CLASSIC_NAMES is
// nonzero. The program defines the macro, or a header that only TBB 2020 had does, before or after
// this one.
#pragma once

#define CORBEL_CLASSIC_NAMES_WANTED 1

// "+ 0": a macro that is defined as empty counts as 0.
#if defined(TBB_CLASSIC_NAMES) && (TBB_CLASSIC_NAMES + 0)
#include <oneapi/tbb/detail/_classic_names.h>
#endif
