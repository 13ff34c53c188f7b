// SPDX-License-Identifier: Apache-2.0
// Parsing of memory amounts in the environment and on the command line.
#include "base/memory_amount.hpp"

#include <gtest/gtest.h>

namespace corbel {
namespace {

using Kind = MemoryAmount::Kind;

void expect(const char* text, Kind kind, std::size_t value) {
  MemoryAmount amount;
  ASSERT_TRUE(parse_memory_amount(text, &amount)) << text;
  EXPECT_EQ(amount.kind, kind) << text;
  EXPECT_EQ(amount.value, value) << text;
}

TEST(MemoryAmount, Bytes) {
  expect("0", Kind::kBytes, 0);
  expect("none", Kind::kBytes, 0);
  expect("0M", Kind::kBytes, 0);
  expect("1", Kind::kBytes, 1);
  expect("4096B", Kind::kBytes, 4096);
  expect("64K", Kind::kBytes, std::size_t{64} << 10);
  expect("400M", Kind::kBytes, std::size_t{400} << 20);
  expect("400m", Kind::kBytes, std::size_t{400} << 20);
  expect("400MB", Kind::kBytes, std::size_t{400} << 20);
  expect("400MiB", Kind::kBytes, std::size_t{400} << 20);
  expect("2Gib", Kind::kBytes, std::size_t{2} << 30);
  expect("3T", Kind::kBytes, std::size_t{3} << 40);
  expect("1.5G", Kind::kBytes, std::size_t{3} << 29);
  expect("0.25K", Kind::kBytes, 256);
  expect("1.000001M", Kind::kBytes, (std::size_t{1} << 20) + 1);
  expect("9223372036854775807", Kind::kBytes, PTRDIFF_MAX);
}

TEST(MemoryAmount, SharesAndAuto) {
  expect("80%", Kind::kShare, 8000);
  expect("100%", Kind::kShare, 10000);
  expect("12.5%", Kind::kShare, 1250);
  expect("0.01%", Kind::kShare, 1);
  expect("auto", Kind::kAuto, 0);
}

TEST(MemoryAmount, AnythingElseIsRefused) {
  for (const char* text : {"",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "1 M",
                           "M",
                           "%",
                           "lots",
                           "AUTO1",
                           "autos",
                           "aut",
                           "non",
                           "1.5",
                           "1.M",
                           ".5M",
                           "1..5M",
                           "1.5.2M",
                           "1X",
                           "1MM",
                           "1Mi",
                           "1iB",
                           "1KiBs",
                           "1BB",
                           "1,5G",
                           "0x10",
                           "1e9",
                           "101%",
                           "100.5%",
                           "0%",
                           "0.0%",
                           "80%%",
                           "80% ",
                           "5%M",
                           "80M%",
                           "1.2345678M",
                           "8388608T",
                           "9223372036854775808",
                           "18446744073709551616",
                           "99999999999999999999999K"}) {
    MemoryAmount amount{Kind::kAuto, 7};
    EXPECT_FALSE(parse_memory_amount(text, &amount)) << text;
    EXPECT_EQ(amount.value, 7U) << text;
  }
}

}  // namespace
}  // namespace corbel
