// SPDX-License-Identifier: Apache-2.0
// The namespace Concurrency of TBB 2020.
#pragma once

#include <tbb/combinable.h>
#include <tbb/critical_section.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/reader_writer_lock.h>
#include <tbb/task_group.h>
#include <tbb/tbb_exception.h>
#include <corbel/classic/ppl.hpp>
