// SPDX-License-Identifier: Apache-2.0
// How the model tests run the explorer.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "explorer.hpp"

namespace corbel::model {

template <typename T, typename... Arguments>
Result explore(int threads, const Mutation& mutation, const Arguments&... arguments) {
  const Result result = Explorer::get().explore(
      threads, [&]() -> std::unique_ptr<Test> { return std::make_unique<T>(arguments...); },
      mutation);
  std::printf("[    model ] %ld executions, %ld states, %ld runs%s%s\n", result.executions,
              result.states, result.runs,
              result.failure.empty() ? "" : ", then: ", result.failure.c_str());
  return result;
}

#define EXPECT_SOUND(result)             \
  do {                                   \
    const Result r = (result);           \
    EXPECT_EQ(r.failure, "") << r.trace; \
    EXPECT_GT(r.executions, 1);          \
  } while (false)

// The failure must be the one that the mutant is expected to cause.
#define EXPECT_BROKEN(result, what)                                                          \
  do {                                                                                       \
    const Result r = (result);                                                               \
    EXPECT_NE(r.failure.find(what), std::string::npos) << "failure: '" << r.failure << "'\n" \
                                                       << r.trace;                           \
  } while (false)

}  // namespace corbel::model
