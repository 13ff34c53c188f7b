// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace corbel::os {

// Whether use_own_files() has had its effect.
bool has_own_files();

}  // namespace corbel::os
