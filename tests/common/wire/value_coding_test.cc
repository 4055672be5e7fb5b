#include "common/wire/value_coding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/base/random.h"

namespace weir::wire {
namespace {

uint32_t RoundedBits(uint32_t bits) {
  return std::bit_cast<uint32_t>(RoundToBf16(std::bit_cast<float>(bits)));
}

TEST(RoundToBf16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(RoundedBits(0x3f800000), 0x3f800000u);  // 1.0 is exact
  EXPECT_EQ(RoundedBits(0x3f807fff), 0x3f800000u);  // below the middle
  EXPECT_EQ(RoundedBits(0x3f808000), 0x3f800000u);  // the middle, lower is even
  EXPECT_EQ(RoundedBits(0x3f808001), 0x3f810000u);  // above the middle
  EXPECT_EQ(RoundedBits(0x3f818000), 0x3f820000u);  // the middle, upper is even
  EXPECT_EQ(RoundedBits(0x3fffffff), 0x40000000u);  // carries into the exponent
  EXPECT_EQ(RoundedBits(0xbf818000), 0xbf820000u);  // the sign does not matter
}

TEST(RoundToBf16, KeepsZerosAndRoundsDenormals) {
  EXPECT_EQ(RoundedBits(0x00000000), 0x00000000u);
  EXPECT_EQ(RoundedBits(0x80000000), 0x80000000u);
  EXPECT_EQ(RoundedBits(0x00000001), 0x00000000u);
  EXPECT_EQ(RoundedBits(0x00008001), 0x00010000u);
  EXPECT_EQ(RoundedBits(0x80018000), 0x80020000u);
}

TEST(RoundToBf16, SaturatesFiniteValuesInsteadOfOverflowing) {
  EXPECT_EQ(RoundedBits(0x7f7f0000), 0x7f7f0000u);
  EXPECT_EQ(RoundedBits(0x7f7f7fff), 0x7f7f0000u);
  EXPECT_EQ(RoundedBits(0x7f7f8000), 0x7f7f0000u);
  EXPECT_EQ(RoundedBits(0x7f7fffff), 0x7f7f0000u);
  EXPECT_EQ(RoundedBits(0xff7fffff), 0xff7f0000u);
}

TEST(RoundToBf16, KeepsInfinitiesAndNan) {
  EXPECT_EQ(RoundedBits(0x7f800000), 0x7f800000u);
  EXPECT_EQ(RoundedBits(0xff800000), 0xff800000u);
  EXPECT_TRUE(std::isnan(RoundToBf16(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(RoundedBits(0x7f800001), 0x7fc00000u);  // its payload lies in the lost half
  EXPECT_EQ(RoundedBits(0xffffffff), 0xffff0000u);
}

TEST(RoundToBf16, IsWithinHalfAStepAndRoundsOnlyOnce) {
  RandomStream random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.Next()));
    const float rounded = RoundToBf16(value);
    ASSERT_EQ(std::bit_cast<uint32_t>(RoundToBf16(rounded)), std::bit_cast<uint32_t>(rounded));
    if (!std::isnormal(value) || std::abs(value) > 0x1.fep127f) continue;
    ASSERT_LE(std::abs(rounded - value), std::abs(value) * 0x1p-8f) << value;
  }
}

TEST(ValueCoding, CodesRoundedValuesWithoutLoss) {
  RandomStream random(2);
  for (const ValueCoding coding : {ValueCoding::kF32, ValueCoding::kBf16}) {
    std::vector<uint32_t> expected;
    std::vector<float> values;
    for (int i = 0; i < 1001; ++i) {
      values.push_back(Round(std::bit_cast<float>(static_cast<uint32_t>(random.Next())), coding));
      expected.push_back(std::bit_cast<uint32_t>(values.back()));
    }
    Bytes bytes = {7};
    AppendValues(values, coding, &bytes);
    ASSERT_EQ(bytes.size(), 1 + ValueBytes(coding, values.size()));
    std::vector<float> decoded(values.size());
    EXPECT_TRUE(DecodeValues(ByteSpan(bytes).subspan(1), coding, decoded));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(decoded[i]), expected[i]) << ValueCodingName(coding);
    }
  }
}

TEST(ValueCoding, RoundsWhatWasNotRounded) {
  Bytes bytes;
  AppendValues(std::vector<float>{std::bit_cast<float>(0x3f818000)}, ValueCoding::kBf16, &bytes);
  EXPECT_EQ(bytes, (Bytes{0x82, 0x3f}));
}

TEST(ValueCoding, TakesAnEmptyList) {
  Bytes bytes;
  AppendValues({}, ValueCoding::kF32, &bytes);
  AppendValues({}, ValueCoding::kBf16, &bytes);
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(DecodeValues(bytes, ValueCoding::kF32, {}));
}

void ExpectCodes(const ValueFormat& format, const std::vector<float>& units, const Bytes& codes) {
  Bytes bytes;
  AppendValues(units, format, &bytes);
  EXPECT_EQ(bytes, codes);
  std::vector<float> decoded(units.size());
  EXPECT_TRUE(DecodeValues(bytes, format, decoded));
  EXPECT_EQ(decoded, units);
}

TEST(ValueCoding, CodesSignsInABitEachAndZerosBehindThem) {
  const ValueFormat signs(ValueCoding::kLevels, 1, nullptr);
  ExpectCodes(signs, {1, -1, -1, 1, 1, -1, 1, 1, -1}, {0b0010'0110, 1});
  std::vector<float> decoded(9);
  EXPECT_FALSE(DecodeValues(Bytes{0, 2}, signs, decoded)) << "padding";
}

TEST(ValueCoding, CodesLevelsAsSignAndNumber) {
  ExpectCodes(ValueFormat(ValueCoding::kLevels, 3, nullptr), {1, -2, 4}, {0b10'011'000, 0b1});
  ExpectCodes(ValueFormat(ValueCoding::kLevels, 8, nullptr), {128, -128},
              {0b1111'1110, 0b1111'1111});
}

// Tsuzuku et al. 2018, appendix B: 0.25, -8, 16 and -32 beside 2^5.
TEST(ValueCoding, CodesPowersAsSignAndDistance) {
  ExpectCodes(ValueFormat(ValueCoding::kPowers, 4, nullptr),
              {0.25f / 32, -8.0f / 32, 16.0f / 32, -1}, {0b0101'1110, 0b0001'0010});
  ExpectCodes(ValueFormat(ValueCoding::kPowers, 7, nullptr), {std::ldexp(-1.0f, -63)},
              {0b111'1111});
}

}  // namespace
}  // namespace weir::wire
