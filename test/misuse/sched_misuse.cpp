// SPDX-License-Identifier: Apache-2.0
// misuse_sched CASE, or --list.
#include "sched_misuse.hpp"

namespace misuse {
extern const Case group_cases[];
extern const Case classic_cases[];
extern const Case body_cases[];
extern const Case arena_cases[];
extern const Case end_cases[];
}  // namespace misuse

int main(int argc, char** argv) {
  using namespace misuse;
  return run_case({group_cases, classic_cases, body_cases, arena_cases, end_cases},
                  argc == 2 ? argv[1] : "--list");
}
