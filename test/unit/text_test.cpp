// SPDX-License-Identifier: Apache-2.0
// Text formatting without malloc, and the arithmetic of base/.
#include "base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/bits.hpp"

namespace corbel {
namespace {

template <std::size_t kCapacity>
std::string text_of(const Text<kCapacity>& text) {
  return std::string(text.data(), text.size());
}

TEST(Text, StringsAndNumbers) {
  Text<200> text;
  text.add("a ").add_decimal(0).add(" ").add_decimal(1234567890123456789U).add(" ");
  text.add_hex(0).add(" ").add_hex(0xdeadbeef01U).add(" ").add_hex(UINT64_MAX);
  EXPECT_EQ(text_of(text), "a 0 1234567890123456789 0x0 0xdeadbeef01 0xffffffffffffffff");
}

TEST(Text, LargestDecimal) {
  Text<40> text;
  text.add_decimal(UINT64_MAX);
  EXPECT_EQ(text_of(text), "18446744073709551615");
}

TEST(Text, NullAndEmptyAddNothing) {
  Text<8> text;
  text.add(nullptr).add("");
  EXPECT_EQ(text.size(), 0U);
}

TEST(Text, MebibytesAreRoundedToTenths) {
  const auto mebibytes = [](std::uint64_t bytes) {
    Text<40> text;
    text.add_mebibytes(bytes);
    return text_of(text);
  };
  EXPECT_EQ(mebibytes(0), "0.0 MiB");
  EXPECT_EQ(mebibytes(1U << 20), "1.0 MiB");
  EXPECT_EQ(mebibytes(3U << 19), "1.5 MiB");
  EXPECT_EQ(mebibytes((1U << 20) - 1), "1.0 MiB");
  EXPECT_EQ(mebibytes(std::uint64_t{5} << 40), "5242880.0 MiB");
}

// The last byte is reserved for the newline.
TEST(Text, IsCutOffAtItsCapacity) {
  Text<6> text;
  text.add("abc").add_decimal(98765);
  EXPECT_EQ(text_of(text), "abc98");
  text.add("x\n");
  EXPECT_EQ(text_of(text), "abc98\n");
  text.add("\n");
  EXPECT_EQ(text.size(), 6U);
}

// Like snprintf, it returns the length of the whole text, however much fits the buffer.
TEST(TextInto, CountsWhatDoesNotFit) {
  char buffer[6] = "?????";
  for (std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{6}}) {
    std::fill(buffer, buffer + 5, '?');
    TextInto text(buffer, room);
    EXPECT_EQ(text.add("ab").add_decimal(123).finish(), 5U);
    const std::string expected = room == 0 ? "?????" : std::string("ab123").substr(0, room - 1);
    EXPECT_STREQ(buffer, expected.c_str()) << room;
    for (std::size_t i = room; i < 5; ++i) EXPECT_EQ(buffer[i], '?') << "written past " << room;
  }
  EXPECT_EQ(TextInto(nullptr, 0).add("abc").finish(), 3U);
}

TEST(Bits, PowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0));
  for (unsigned i = 0; i < 64; ++i) {
    const std::size_t n = std::size_t{1} << i;
    EXPECT_TRUE(is_power_of_two(n));
    EXPECT_EQ(log2_floor(n), i);
    if (n > 2) {
      EXPECT_FALSE(is_power_of_two(n - 1));
      EXPECT_EQ(log2_floor(n - 1), i - 1);
    }
  }
}

TEST(Bits, AlignUpAndDown) {
  EXPECT_EQ(align_up(0, 16), 0U);
  EXPECT_EQ(align_up(1, 16), 16U);
  EXPECT_EQ(align_up(16, 16), 16U);
  EXPECT_EQ(align_down(31, 16), 16U);
  EXPECT_EQ(divide_up(33, 16), 3U);
  EXPECT_EQ(divide_up(32, 16), 2U);
}

}  // namespace
}  // namespace corbel
