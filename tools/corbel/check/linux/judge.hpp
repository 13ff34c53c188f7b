// SPDX-License-Identifier: Apache-2.0
// The decision whether a malloc replacement has its symbols.
#pragma once

#include <vector>

#include "check/check.hpp"
#include "program/loaded_object.hpp"

namespace corbel::cli {

// A report that lists every replaceable symbol and nothing else.
CheckReport new_report();

// Fills `symbols`, `active` and `reasons` of `report` from the objects, in search order.
// Keeps the bindings already in `report.symbols` and judges them too.
void judge(const std::vector<LoadedObject>& objects, CheckReport& report);

}  // namespace corbel::cli
