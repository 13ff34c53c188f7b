// SPDX-License-Identifier: Apache-2.0
// Included by the headers that only TBB 2020 had: a source file that includes one of them is
// written for TBB 2020, unless the program says otherwise.
#pragma once

#ifndef TBB_CLASSIC_NAMES
#define TBB_CLASSIC_NAMES 1
#endif

#if defined(CORBEL_CLASSIC_NAMES_WANTED) && (TBB_CLASSIC_NAMES + 0)
#include <oneapi/tbb/detail/_classic_names.h>
#endif
