#include "common/wire/row_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kAllRows = std::numeric_limits<uint64_t>::max();

std::vector<uint64_t> RandomIds(RandomStream& random, size_t count, uint64_t table_rows) {
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(random.NextBelow(table_rows));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<uint64_t> RoundTrip(const std::vector<uint64_t>& ids, uint64_t table_rows) {
  Bytes bytes;
  const size_t frame_bytes = AppendRowIds(&bytes, 3, 16, ids);
  EXPECT_EQ(frame_bytes, bytes.size());
  std::vector<uint64_t> decoded = {99};
  const Status status = DecodeRowIds(OnlyFrame(bytes), 16, table_rows, &decoded);
  EXPECT_TRUE(status.ok()) << status;
  return decoded;
}

std::string IdsRefusal(const FrameHeader& header, const Bytes& payload, uint64_t table_rows) {
  std::vector<uint64_t> ids;
  const Status status = DecodeRowIds(UncheckedView(header, payload), 16, table_rows, &ids);
  EXPECT_EQ(status.code(), StatusCode::kInvalidData);
  return status.message();
}

FrameHeader IdsHeader(uint32_t count) {
  return {.kind = FrameKind::kRowIds, .tensor = 3, .begin = 16, .count = count};
}

TEST(RowIds, RoundTripTablesOfEverySize) {
  RandomStream random(1);
  for (const uint64_t table_rows : {uint64_t{1}, uint64_t{2}, uint64_t{100}, uint64_t{100000},
                                    uint64_t{1} << 40, uint64_t{1} << 63, kAllRows}) {
    for (const size_t count : {0u, 1u, 2u, 100u, 2048u}) {
      const std::vector<uint64_t> ids = RandomIds(random, count, table_rows);
      ASSERT_EQ(RoundTrip(ids, table_rows), ids) << table_rows;
    }
  }
  EXPECT_EQ(RoundTrip({0, kAllRows - 1}, kAllRows), (std::vector<uint64_t>{0, kAllRows - 1}));
}

TEST(RowIds, CostLittleMoreThanTheirEntropyAndNeverMoreThanRaw) {
  RandomStream random(2);
  const std::vector<uint64_t> ids = RandomIds(random, 10000, 1000000);
  Bytes bytes;
  const size_t frame_bytes = AppendRowIds(&bytes, 0, 1, ids);
  EXPECT_LT(80 * frame_bytes, ids.size() * 83);  // H(d)/d at 1 % is 8.08 bits
  bytes.clear();
  EXPECT_LE(AppendRowIds(&bytes, 0, 1, std::vector<uint64_t>{kAllRows}),
            kFrameHeaderBytesMin + 1 + 8);
}

TEST(RowIds, RejectAnIdOutsideTheTable) {
  Bytes bytes;
  AppendRowIds(&bytes, 3, 16, std::vector<uint64_t>{0, 500});
  std::vector<uint64_t> ids;
  EXPECT_TRUE(DecodeRowIds(OnlyFrame(bytes), 16, 501, &ids).ok());
  EXPECT_THAT(DecodeRowIds(OnlyFrame(bytes), 16, 500, &ids).message(),
              HasSubstr("row ids frame of table 3: row ids do not strictly increase below"));
}

TEST(RowIds, RejectRawIdsThatDoNotIncrease) {
  Bytes payload = {3};
  ByteWriter writer(payload);
  writer.Put(uint64_t{7});
  writer.Put(uint64_t{7});
  EXPECT_THAT(IdsRefusal(IdsHeader(2), payload, 100), HasSubstr("strictly increase"));
  payload[9] = 6;
  EXPECT_THAT(IdsRefusal(IdsHeader(2), payload, 100), HasSubstr("strictly increase"));
  payload[9] = 100;
  EXPECT_THAT(IdsRefusal(IdsHeader(2), payload, 100), HasSubstr("strictly increase"));
  std::vector<uint64_t> ids;
  EXPECT_TRUE(DecodeRowIds(UncheckedView(IdsHeader(2), payload), 16, 101, &ids).ok());
}

TEST(RowIds, RejectWrongTagsHeadersAndSurplusBytes) {
  EXPECT_THAT(IdsRefusal(IdsHeader(0), {}, 100), HasSubstr("no tag"));
  EXPECT_THAT(IdsRefusal(IdsHeader(0), {0}, 100), HasSubstr("unknown tag 0"));
  EXPECT_THAT(IdsRefusal(IdsHeader(0), {7}, 100), HasSubstr("unknown tag 7"));
  EXPECT_THAT(IdsRefusal(IdsHeader(0), {3, 0}, 100), HasSubstr("1 bytes after the last id"));
  EXPECT_THAT(IdsRefusal(IdsHeader(1), {2, 0x81}, 100), HasSubstr("padding"));
  EXPECT_THAT(IdsRefusal(IdsHeader(1), {2, 0}, 100), HasSubstr("cut short"));
  FrameHeader header = IdsHeader(1);
  header.begin = 8;
  EXPECT_THAT(IdsRefusal(header, {2, 1}, 100), HasSubstr("dimension 8, expected 16"));
  header = IdsHeader(1);
  header.coding = ValueCoding::kBf16;
  EXPECT_THAT(IdsRefusal(header, {2, 1}, 100), HasSubstr("F32"));
  header = IdsHeader(1);
  header.kind = FrameKind::kRowValues;
  EXPECT_THAT(IdsRefusal(header, {2, 1}, 100), HasSubstr("expected a row ids frame"));
}

TEST(RowFrames, RefuseImpossibleCountsBeforeAllocating) {
  constexpr uint32_t kMany = 0xffffffff;
  const Bytes tiny = {2, 0xff, 0xff, 0xff};
  std::vector<uint64_t> ids;
  std::vector<float> values;
  FrameHeader header = IdsHeader(kMany);
  EXPECT_FALSE(DecodeRowIds(UncheckedView(header, tiny), 16, kAllRows, &ids).ok());
  EXPECT_FALSE(DecodeRowIds(UncheckedView(header, {tiny.data(), 1}), 16, kAllRows, &ids).ok());
  const Bytes raw = {3, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(DecodeRowIds(UncheckedView(header, raw), 16, kAllRows, &ids).ok());
  header.kind = FrameKind::kRowGradients;
  EXPECT_FALSE(DecodeRowGradients(UncheckedView(header, tiny), 16, kAllRows, &ids, &values).ok());
  header.count = 24;  // enough bits for the ids, not for their values
  EXPECT_FALSE(DecodeRowGradients(UncheckedView(header, tiny), 16, kAllRows, &ids, &values).ok());
  header.kind = FrameKind::kRowValues;
  header.count = kMany;
  header.begin = kMany;
  EXPECT_FALSE(DecodeRowValues(UncheckedView(header, tiny), kMany, kMany, &values).ok());
  EXPECT_EQ(ids.capacity(), 0u);
  EXPECT_EQ(values.capacity(), 0u);
}

TEST(RowIds, TakeNoMoreMemoryThanTheTableHasRows) {
  Bytes payload(1 << 16, 0xff);  // Rice with parameter 0: each bit is the next id
  payload[0] = 2;
  std::vector<uint64_t> ids;
  EXPECT_FALSE(DecodeRowIds(UncheckedView(IdsHeader(8 * 65535), payload), 16, 1000, &ids).ok());
  EXPECT_EQ(ids.capacity(), 0u);
}

TEST(RowGradients, RoundTrip) {
  RandomStream random(3);
  for (const ValueCoding coding : {ValueCoding::kF32, ValueCoding::kBf16}) {
    for (const size_t count : {0u, 1u, 300u}) {
      const std::vector<uint64_t> ids = RandomIds(random, count, 5000);
      std::vector<float> values = RandomValues(random, ids.size() * 16);
      for (float& value : values) value = Round(value, coding);
      Bytes bytes = MakeFrame({.kind = FrameKind::kScores}, {});
      const size_t before = bytes.size();
      const size_t frame_bytes = AppendRowGradients(&bytes, 4, 16, ids, values, coding);
      EXPECT_EQ(frame_bytes, bytes.size() - before);
      FrameCursor cursor(bytes);
      ASSERT_TRUE(cursor.Next().ok());
      const FrameView frame = *cursor.Next();
      std::vector<uint64_t> decoded_ids;
      std::vector<float> decoded_values;
      ASSERT_TRUE(DecodeRowGradients(frame, 16, 5000, &decoded_ids, &decoded_values).ok());
      EXPECT_EQ(decoded_ids, ids);
      EXPECT_EQ(decoded_values, values);
      EXPECT_EQ(frame.header.tensor, 4u);
      EXPECT_FALSE(DecodeRowGradients(frame, 15, 5000, &decoded_ids, &decoded_values).ok());
    }
  }
}

TEST(RowGradients, RejectMissingAndSurplusValues) {
  FrameHeader header = IdsHeader(1);
  header.kind = FrameKind::kRowGradients;
  header.begin = 1;
  std::vector<uint64_t> ids;
  std::vector<float> values;
  const auto decode = [&](const Bytes& payload) {
    return DecodeRowGradients(UncheckedView(header, payload), 1, 10, &ids, &values);
  };
  EXPECT_TRUE(decode({2, 1, 0, 0, 0, 0}).ok());
  EXPECT_FALSE(decode({2, 1, 0, 0, 0}).ok());
  EXPECT_FALSE(decode({2, 1, 0, 0, 0, 0, 0}).ok());
}

TEST(SavedRows, AreOf32Bits) {
  Bytes bytes;
  AppendRowGradients(&bytes, 1, 2, std::vector<uint64_t>{0, 3}, std::vector<float>{1, 2, 3, 4},
                     ValueCoding::kBf16);
  FrameView frame = OnlyFrame(bytes);
  frame.header.kind = FrameKind::kSavedRows;
  std::vector<uint64_t> ids;
  ByteSpan rows;
  EXPECT_THAT(DecodeSavedRows(frame, 2, 4, &ids, &rows).message(), HasSubstr("32-bit"));
}

TEST(RowValues, RoundTripAndRejectAnotherShape) {
  RandomStream random(4);
  const std::vector<float> values = RandomValues(random, 7 * 5);
  Bytes bytes;
  EXPECT_EQ(AppendRowValues(&bytes, 2, 5, values, ValueCoding::kF32),
            kFrameHeaderBytesMin + 1 + 4 * values.size());
  const FrameView frame = OnlyFrame(bytes);
  std::vector<float> decoded;
  ASSERT_TRUE(DecodeRowValues(frame, 5, 7, &decoded).ok());
  EXPECT_EQ(decoded, values);
  EXPECT_THAT(DecodeRowValues(frame, 5, 6, &decoded).message(), HasSubstr("7 rows, asked for 6"));
  EXPECT_THAT(DecodeRowValues(frame, 7, 5, &decoded).message(), HasSubstr("dimension 5"));
  FrameView cut = frame;
  cut.payload = cut.payload.first(cut.payload.size() - 1);
  EXPECT_FALSE(DecodeRowValues(cut, 5, 7, &decoded).ok());
}

}  // namespace
}  // namespace weir::wire
