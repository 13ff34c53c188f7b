// SPDX-License-Identifier: Apache-2.0
// The allocator's interface for the rest of the tree. The proxy and the pools use the functions
// named here, and heap/fast_path.hpp where a call would cost too much.
//
// Every function may be called from any thread, at any time in the life of a process, fork children
// and exit handlers included. None throws; none calls the operating system's malloc.
#pragma once

#include "alloc/heap/allocate.hpp"    // allocate, allocate_zeroed, allocate_aligned
#include "alloc/heap/deallocate.hpp"  // deallocate
#include "alloc/heap/foreign.hpp"     // set_foreign_handlers
#include "alloc/heap/reallocate.hpp"  // reallocate, usable_size, is_block, owns
#include "alloc/map/die.hpp"          // die
#include "alloc/policy/reclaim.hpp"   // trim
#include "alloc/report/stats.hpp"     // stats
