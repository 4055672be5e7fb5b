#include "common/base/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

namespace weir {
namespace {

TEST(Bytes, WhatIsWrittenIsRead) {
  Bytes bytes;
  bytes.reserve(16);  // or g++ 12 sees an overrun in vector::insert that is not there
  ByteWriter writer(bytes);
  writer.Put<uint8_t>(7);
  writer.Put<uint32_t>(0x01020304);
  writer.Put(-1.5f);
  writer.PutRaw("weir", 4);
  EXPECT_EQ(writer.size(), 13u);
  EXPECT_EQ(bytes[1], 0x04) << "little-endian";

  ByteReader reader(bytes);
  EXPECT_EQ(reader.Get<uint8_t>(), 7);
  EXPECT_EQ(reader.Get<uint32_t>(), 0x01020304u);
  EXPECT_EQ(reader.Get<float>(), -1.5f);
  EXPECT_EQ(reader.remaining(), 4u);
  const ByteSpan text = reader.GetSpan(4);
  EXPECT_TRUE(std::equal(text.begin(), text.end(), AsBytes("weir").begin()));
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_TRUE(reader.ok());
}

TEST(Bytes, AReadPastTheEndGivesZeroAndIsRemembered) {
  const Bytes bytes = {1, 2, 3};
  ByteReader reader(bytes);
  EXPECT_EQ(reader.Get<uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Get<uint8_t>(), 0) << "and so do all later reads";
  EXPECT_EQ(reader.GetVarint(), 0u);
  EXPECT_TRUE(reader.GetSpan(1).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, ASpanOfAnyLengthIsChecked) {
  const Bytes bytes = {1, 2, 3};
  for (const size_t length : {size_t{4}, std::numeric_limits<size_t>::max()}) {
    ByteReader reader(bytes);
    reader.Get<uint8_t>();
    EXPECT_TRUE(reader.GetSpan(length).empty());
    EXPECT_FALSE(reader.ok());
  }
  ByteReader reader(bytes);
  EXPECT_EQ(reader.GetSpan(3).size(), 3u);
  EXPECT_TRUE(reader.GetSpan(0).empty());
  EXPECT_TRUE(reader.ok()) << "nothing is always there";
}

TEST(Varint, RoundTripsAtEveryLength) {
  for (int bits = 0; bits <= 64; ++bits) {
    const uint64_t power = bits == 64 ? 0 : uint64_t{1} << bits;
    for (const uint64_t value : {power - 1, power, power + 1}) {
      Bytes bytes;
      ByteWriter(bytes).PutVarint(value);
      const size_t expected = value == 0 ? 1 : (static_cast<size_t>(std::bit_width(value)) + 6) / 7;
      EXPECT_EQ(bytes.size(), expected) << value;
      ByteReader reader(bytes);
      EXPECT_EQ(reader.GetVarint(), value);
      EXPECT_TRUE(reader.ok());
      EXPECT_EQ(reader.remaining(), 0u);
    }
  }
}

TEST(Varint, IsRefusedWhenItHasMoreThan64Bits) {
  Bytes bytes(9, 0x80);
  bytes.push_back(0x02);  // 2^64
  ByteReader reader(bytes);
  EXPECT_EQ(reader.GetVarint(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(Varint, IsRefusedWhenItDoesNotEnd) {
  for (size_t length = 0; length <= 12; ++length) {
    const Bytes bytes(length, 0xff);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.GetVarint(), 0u);
    EXPECT_FALSE(reader.ok()) << length;
  }
}

}  // namespace
}  // namespace weir
