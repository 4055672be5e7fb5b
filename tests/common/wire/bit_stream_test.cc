#include "common/wire/bit_stream.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "common/base/random.h"

namespace weir::wire {
namespace {

struct Field {
  uint64_t value;
  uint32_t bit_count;
};

TEST(BitStream, FillsBytesFromTheLowestBit) {
  Bytes bytes(2 + BitWriter::kSlackBytes);
  BitWriter writer(bytes);
  writer.Write(1, 1);
  writer.Write(0b10, 2);
  writer.Write(0b10011, 5);
  writer.Write(1, 1);
  ASSERT_EQ(writer.Finish(), 2u);
  bytes.resize(2);
  EXPECT_EQ(bytes, (Bytes{0b10011101, 1}));
}

TEST(BitStream, ReadsBackFieldsOfAnyWidth) {
  RandomStream random(1);
  std::vector<Field> fields;
  size_t bit_count = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto width = static_cast<uint32_t>(random.NextBelow(65));
    fields.push_back({width == 0 ? 0 : random.Next() >> (64 - width), width});
    bit_count += width;
  }
  Bytes bytes((bit_count + 7) / 8 + BitWriter::kSlackBytes);
  BitWriter writer(bytes);
  for (const Field& field : fields) writer.Write(field.value, field.bit_count);
  bytes.resize(bytes.size() - BitWriter::kSlackBytes);
  ASSERT_EQ(writer.Finish(), bytes.size());
  BitReader reader(bytes);
  for (const Field& field : fields) ASSERT_EQ(reader.Read(field.bit_count), field.value);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.bytes_consumed(), bytes.size());
  EXPECT_TRUE(reader.padding_is_zero());
}

// Bits of a Rice code with a quotient that fits into a test.
size_t CodeBits(uint64_t value, uint32_t parameter) { return (value >> parameter) + 1 + parameter; }

TEST(BitStream, ReadsBackRiceCodesOfAnyParameterAndQuotient) {
  RandomStream random(2);
  std::vector<Field> codes;
  size_t bit_count = 0;
  for (uint32_t parameter = 0; parameter < 64; ++parameter) {
    for (const uint64_t quotient : {0u, 1u, 7u, 55u, 56u, 62u, 63u, 64u, 65u, 127u, 128u, 1000u}) {
      if (quotient > ~uint64_t{0} >> parameter) continue;
      const uint64_t low = random.Next() & ((uint64_t{1} << parameter) - 1);
      codes.push_back({quotient << parameter | low, parameter});
      bit_count += CodeBits(codes.back().value, parameter);
    }
  }
  for (size_t i = codes.size() - 1; i > 0; --i) std::swap(codes[i], codes[random.NextBelow(i + 1)]);
  Bytes bytes((bit_count + 7) / 8 + BitWriter::kSlackBytes);
  BitWriter writer(bytes);
  for (const Field& code : codes) writer.WriteRice(code.value, code.bit_count);
  bytes.resize(bytes.size() - BitWriter::kSlackBytes);
  ASSERT_EQ(writer.Finish(), bytes.size());
  BitReader reader(bytes);
  for (const Field& code : codes) ASSERT_EQ(reader.ReadRice(code.bit_count), code.value);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.bytes_consumed(), bytes.size());
}

TEST(BitReader, StopsAtTheEnd) {
  for (size_t size = 0; size < 20; ++size) {
    const Bytes zeros(size);
    BitReader reader(zeros);
    EXPECT_EQ(reader.ReadRice(3), 0u) << "a code that never closes";
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.Read(1), 0u);
    BitReader fields(zeros);
    for (size_t i = 0; i < 8 * size; ++i) fields.Read(1);
    EXPECT_TRUE(fields.ok());
    fields.Read(1);
    EXPECT_FALSE(fields.ok());
  }
}

TEST(BitReader, RefusesARemainderThatIsCutShort) {
  const Bytes bytes = {0x01};
  BitReader whole(bytes);
  EXPECT_EQ(whole.ReadRice(7), 0u);
  EXPECT_TRUE(whole.ok());
  BitReader cut(bytes);
  cut.ReadRice(8);
  EXPECT_FALSE(cut.ok());
}

TEST(BitReader, RefusesARiceCodeAbove64Bits) {
  Bytes bytes(20);
  bytes[0] = 0b100;  // quotient 2
  BitReader reader(bytes);
  EXPECT_EQ(reader.ReadRice(63), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(BitReader, TellsPaddingFromData) {
  const Bytes bytes = {0b0000101, 0xff};
  BitReader reader(bytes);
  reader.Read(3);
  EXPECT_EQ(reader.bytes_consumed(), 1u);
  EXPECT_TRUE(reader.padding_is_zero());
  reader.Read(6);
  EXPECT_EQ(reader.bytes_consumed(), 2u);
  EXPECT_FALSE(reader.padding_is_zero());
}

TEST(BitWriterDeathTest, DiesRatherThanWritePastItsSpace) {
  Bytes bytes(16);
  BitWriter writer(std::span<uint8_t>(bytes).first(15));
  writer.Write(0, 56);
  writer.Write(0, 7);
  writer.Write(0, 1);
  EXPECT_DEATH(writer.Write(0, 1), "space_.size");
}

}  // namespace
}  // namespace weir::wire
