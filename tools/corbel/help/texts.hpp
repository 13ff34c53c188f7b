// SPDX-License-Identifier: Apache-2.0
// What stands below the options in the help of corbel and of its sub-commands. The systems differ
// in it.
#pragma once

namespace corbel::cli {

extern const char kMainFooter[];
extern const char kRunFooter[];
extern const char kCompareFooter[];
extern const char kCheckFooter[];

// What --tbb does in each.
extern const char kRunTbb[];
extern const char kCompareTbb[];
extern const char kCheckTbb[];

}  // namespace corbel::cli
