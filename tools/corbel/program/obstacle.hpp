// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace corbel::cli {

// A reason why a replaced malloc cannot work, or works only in part.
struct Obstacle {
  std::string id;    // one word for scripts: "static", "setuid", "musl", …
  std::string text;  // for the user
  std::string help;  // what can be done about it; may be empty
};

}  // namespace corbel::cli
