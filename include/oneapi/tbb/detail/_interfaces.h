// SPDX-License-Identifier: Apache-2.0
// The numbered namespaces of TBB 2020, for programs that name them.
#pragma once

namespace tbb {
inline namespace v1 {}
namespace interface6 = v1;
namespace interface7 = v1;
namespace interface8 = v1;
namespace interface9 = v1;
namespace interface10 = v1;
namespace interface11 = v1;
}  // namespace tbb
