// The bytes of every frame kind, written by hand after docs/reference/wire_format.md (the checksums
// by another program). Later code must write the same and read them for ever.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "common/wire/agreed_frame.h"
#include "common/wire/element_ids.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/score_frame.h"
#include "common/wire/state_frame.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using Indexes = std::vector<uint16_t>;
using Ids = std::vector<uint64_t>;
using Values = std::vector<float>;

std::string ReadText(const std::string& path) {
  std::ifstream file(std::string(WEIR_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Two-digit bytes, with comments from # to the end of the line.
Bytes ParseHex(const std::string& text) {
  Bytes bytes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      bytes.push_back(static_cast<uint8_t>(std::stoul(word, nullptr, 16)));
    }
  }
  return bytes;
}

Bytes Golden(const std::string& name) { return ParseHex(ReadText("tests/golden/wire/" + name)); }

void ExpectStripe(const StripeUpdate& update, uint32_t stripe, const Indexes& indexes,
                  const Values& values) {
  EXPECT_EQ(update.stripe, stripe);
  EXPECT_FALSE(update.dense);
  EXPECT_EQ(Indexes(update.indexes.begin(), update.indexes.end()), indexes);
  EXPECT_EQ(Values(update.values.begin(), update.values.end()), values);
}

constexpr uint64_t kHugeId = 0xfedcba9876543210;

TEST(GoldenFrames, GradientOfBitmapAndRiceBlocks) {
  const Bytes golden = Golden("gradient_bf16.hex");
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 3, 32768, ValueCoding::kBf16);
  writer.Append(2, 12, Indexes{1, 6, 11}, Values{1, -2, 0.5});
  writer.Append(0, 4096, Indexes{5, 100, 1000}, Values{3, -0.25, 0.0078125});
  writer.Append(1, 4096, Indexes{904}, Values{-1.5});
  writer.Finish();
  EXPECT_EQ(bytes, golden);

  PieceFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), 2 * 4096 + 12).ok());
  ASSERT_EQ(reader.stripes().size(), 3u);
  ExpectStripe(reader.stripes()[0], 2, {1, 6, 11}, {1, -2, 0.5});
  ExpectStripe(reader.stripes()[1], 0, {5, 100, 1000}, {3, -0.25, 0.0078125});
  ExpectStripe(reader.stripes()[2], 1, {904}, {-1.5});
}

// Two buckets of 2048, each with a scale for plus and one for minus; three levels of both.
TEST(GoldenFrames, GradientOfLevels) {
  const Bytes golden = Golden("gradient_levels.hex");
  const std::vector<float> scales = {0.125f, 0.25f, 1, 2};
  ValueFormat format = ValueCoding::kLevels;
  format.bits = 3;
  format.bucket_log2 = 11;
  format.two_sided = true;
  format.scales = scales;
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 4096, format);
  writer.Append(0, 4096, Indexes{5, 100, 4000}, Values{0.125f, -0.5f, 4});
  writer.Finish();
  EXPECT_EQ(bytes, golden);
  PieceFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), 4096).ok());
  ASSERT_EQ(reader.stripes().size(), 1u);
  ExpectStripe(reader.stripes()[0], 0, {5, 100, 4000}, {0.125f, -0.5f, 4});
}

// Sixteen neighbours, and one far behind them, which has another parameter.
TEST(GoldenFrames, GradientOfTwoGroups) {
  const Bytes golden = Golden("gradient_groups.hex");
  constexpr float kScale = 0.5;
  Indexes indexes(16);
  std::iota(indexes.begin(), indexes.end(), uint16_t{0});
  indexes.push_back(4095);
  Values values(17, 0.5f);
  values.back() = -0.5f;
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, ValueFormat(ValueCoding::kLevels, 1, &kScale));
  writer.Append(0, 4096, indexes, values);
  writer.Finish();
  EXPECT_EQ(bytes, golden);
  PieceFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), 4096).ok());
  ASSERT_EQ(reader.stripes().size(), 1u);
  ExpectStripe(reader.stripes()[0], 0, indexes, values);
}

// Appendix B of Tsuzuku et al. 2018.
TEST(GoldenFrames, GradientOfPowers) {
  const Bytes golden = Golden("gradient_powers.hex");
  constexpr float kLargest = 32;
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, ValueFormat(ValueCoding::kPowers, 4, &kLargest));
  writer.Append(0, 5, Indexes{1, 2, 3, 4}, Values{0.25f, -8, 16, -32});
  writer.Finish();
  EXPECT_EQ(bytes, golden);
  PieceFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), 5).ok());
  ASSERT_EQ(reader.stripes().size(), 1u);
  ExpectStripe(reader.stripes()[0], 0, {1, 2, 3, 4}, {0.25f, -8, 16, -32});
}

TEST(GoldenFrames, TheFormatPageShowsTheGradientFrame) {
  const std::string page = ReadText("docs/reference/wire_format.md");
  const std::string fence = "```hex\n";
  const size_t begin = page.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("```", begin + fence.size());
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(page.substr(begin + fence.size(), end - begin - fence.size()),
            ReadText("tests/golden/wire/gradient_bf16.hex"));
}

TEST(GoldenFrames, DenseValues) {
  const Bytes golden = Golden("values_f32.hex");
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kValues, 0, 0, ValueCoding::kF32);
  writer.AppendDense(0, Values{1, -1.5, 0});
  writer.Finish();
  EXPECT_EQ(bytes, golden);
  PieceFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), 3).ok());
  ASSERT_EQ(reader.stripes().size(), 1u);
  EXPECT_TRUE(reader.stripes()[0].dense);
  EXPECT_EQ(Values(reader.values().begin(), reader.values().end()), (Values{1, -1.5, 0}));
}

TEST(GoldenFrames, RowIds) {
  Bytes bytes;
  AppendRowIds(&bytes, 2, 16, Ids{3, 4, 10, 42});
  EXPECT_EQ(bytes, Golden("row_ids.hex"));
  Ids ids;
  ASSERT_TRUE(DecodeRowIds(OnlyFrame(Golden("row_ids.hex")), 16, 43, &ids).ok());
  EXPECT_EQ(ids, (Ids{3, 4, 10, 42}));
}

TEST(GoldenFrames, ElementIds) {
  Bytes bytes;
  AppendElementIds(&bytes, 2, 131072, std::vector<uint32_t>{3, 4, 10, 42});
  const Bytes golden = Golden("element_ids.hex");
  EXPECT_EQ(bytes, golden);
  std::vector<uint32_t> offsets;
  ASSERT_TRUE(DecodeElementIds(OnlyFrame(golden), 43, &offsets).ok());
  EXPECT_EQ(offsets, (std::vector<uint32_t>{3, 4, 10, 42}));
}

void ExpectAgreed(const std::string& file, FrameKind kind, ValueCoding coding,
                  const std::vector<uint32_t>& offsets, const Values& values) {
  Bytes bytes;
  PieceFrameWriter writer;
  AppendAgreed(&bytes, kind, 2, 131072, coding, values, &writer);
  const Bytes golden = Golden(file);
  EXPECT_EQ(bytes, golden);
  AgreedFrameReader reader;
  ASSERT_TRUE(reader.Read(OnlyFrame(golden), offsets).ok());
  EXPECT_EQ(Values(reader.values().begin(), reader.values().end()), values);
}

TEST(GoldenFrames, AgreedElements) {
  ExpectAgreed("agreed_gradients_bf16.hex", FrameKind::kAgreedGradients, ValueCoding::kBf16,
               {3, 4, 10, 42}, {1, -2, 0.5, -0.25});
  ExpectAgreed("agreed_values_f32.hex", FrameKind::kAgreedValues, ValueCoding::kF32, {7, 9},
               {1, -1.5});
}

TEST(GoldenFrames, RawRowIds) {
  Bytes bytes;
  AppendRowIds(&bytes, 0, 1, Ids{kHugeId});
  EXPECT_EQ(bytes, Golden("row_ids_raw.hex"));
  Ids ids;
  ASSERT_TRUE(DecodeRowIds(OnlyFrame(Golden("row_ids_raw.hex")), 1, kHugeId + 1, &ids).ok());
  EXPECT_EQ(ids, (Ids{kHugeId}));
}

TEST(GoldenFrames, RowValues) {
  Bytes bytes;
  AppendRowValues(&bytes, 2, 2, Values{1, 2, -1, 0.5}, ValueCoding::kBf16);
  EXPECT_EQ(bytes, Golden("row_values_bf16.hex"));
  Values values;
  ASSERT_TRUE(DecodeRowValues(OnlyFrame(Golden("row_values_bf16.hex")), 2, 2, &values).ok());
  EXPECT_EQ(values, (Values{1, 2, -1, 0.5}));
}

TEST(GoldenFrames, RowGradients) {
  Bytes bytes;
  AppendRowGradients(&bytes, 1, 2, Ids{0, 3}, Values{0.5, -0.5, 4, 0}, ValueCoding::kF32);
  EXPECT_EQ(bytes, Golden("row_gradients_f32.hex"));
  Ids ids;
  Values values;
  const Bytes golden = Golden("row_gradients_f32.hex");
  ASSERT_TRUE(DecodeRowGradients(OnlyFrame(golden), 2, 4, &ids, &values).ok());
  EXPECT_EQ(ids, (Ids{0, 3}));
  EXPECT_EQ(values, (Values{0.5, -0.5, 4, 0}));
}

TEST(GoldenFrames, SavedRows) {
  Bytes bytes;
  AppendSavedRows(&bytes, 1, 3, Ids{0, 3}, Values{1, 2, 5, 3, 4, 6});
  EXPECT_EQ(bytes, Golden("saved_rows.hex"));
  Ids ids;
  ByteSpan rows;
  const Bytes golden = Golden("saved_rows.hex");
  ASSERT_TRUE(DecodeSavedRows(OnlyFrame(golden), 3, 4, &ids, &rows).ok());
  EXPECT_EQ(ids, (Ids{0, 3}));
  Values values(rows.size() / sizeof(float));
  std::memcpy(values.data(), rows.data(), rows.size());
  EXPECT_EQ(values, (Values{1, 2, 5, 3, 4, 6}));
}

TEST(GoldenFrames, PieceState) {
  Bytes bytes;
  AppendPieceState(&bytes, 3, 32768, Values{0.25, 7});
  EXPECT_EQ(bytes, Golden("piece_state.hex"));
  Values state;
  const Bytes golden = Golden("piece_state.hex");
  ASSERT_TRUE(DecodePieceState(OnlyFrame(golden), &state).ok());
  EXPECT_EQ(state, (Values{0.25, 7}));
}

TEST(GoldenFrames, PolicyState) {
  Bytes bytes;
  AppendPolicyState(&bytes, 3, Bytes{1, 2, 250});
  EXPECT_EQ(bytes, Golden("policy_state.hex"));
  Bytes state = {9};
  const Bytes golden = Golden("policy_state.hex");
  ASSERT_TRUE(DecodePolicyState(OnlyFrame(golden), 0, &state).ok());
  EXPECT_EQ(state, (Bytes{9, 1, 2, 250})) << "parts are put together";
  EXPECT_FALSE(DecodePolicyState(OnlyFrame(golden), 1, &state).ok()) << "another part";
}

TEST(GoldenFrames, ActivationsAndTheirGradients) {
  PieceFrameWriter writer;
  PieceFrameReader reader;
  Bytes bytes;
  writer.Open(&bytes, FrameKind::kActivations, 1, 2, ValueCoding::kBf16);
  writer.Append(0, 12, Indexes{1, 6, 11}, Values{1, -2, 0.5});
  writer.Finish();
  EXPECT_EQ(bytes, Golden("activations_bf16.hex"));
  ASSERT_TRUE(reader.Read(OnlyFrame(Golden("activations_bf16.hex")), 12).ok());
  ExpectStripe(reader.stripes()[0], 0, {1, 6, 11}, {1, -2, 0.5});

  bytes.clear();
  writer.Open(&bytes, FrameKind::kActivationGradients, 1, 2, ValueCoding::kF32);
  writer.AppendDense(0, Values{1, -1.5, 0.5});
  writer.Finish();
  EXPECT_EQ(bytes, Golden("activation_gradients_f32.hex"));
  ASSERT_TRUE(reader.Read(OnlyFrame(Golden("activation_gradients_f32.hex")), 3).ok());
  EXPECT_TRUE(reader.stripes()[0].dense);
  EXPECT_EQ(Values(reader.values().begin(), reader.values().end()), (Values{1, -1.5, 0.5}));
}

TEST(GoldenFrames, Scores) {
  Bytes bytes;
  AppendScores(&bytes, Values{0.25, 0.75}, Bytes{0, 1});
  EXPECT_EQ(bytes, Golden("scores.hex"));
  Values scores;
  Bytes labels;
  ASSERT_TRUE(DecodeScores(OnlyFrame(Golden("scores.hex")), &scores, &labels).ok());
  EXPECT_EQ(scores, (Values{0.25, 0.75}));
  EXPECT_EQ(labels, (Bytes{0, 1}));
}

}  // namespace
}  // namespace weir::wire
