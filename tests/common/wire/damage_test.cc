// Frames that were damaged, and then sealed again as a hostile peer would: decoding must neither
// crash nor accept what contradicts itself. Of most use under the address and undefined-behaviour
// sanitizers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "common/wire/agreed_frame.h"
#include "common/wire/element_ids.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/score_frame.h"
#include "common/wire/state_frame.h"
#include "tests/common/wire/frame_bytes.h"
#include "tests/common/wire/scaled_values.h"

namespace weir::wire {
namespace {

constexpr uint32_t kPieceElements = 2 * kMaxStripeElements + 100;
constexpr uint32_t kAgreedElements = kMaxStripeElements + 20;
constexpr uint32_t kDimension = 4;
constexpr uint64_t kTableRows = 10000;

Status DecodePiece(const FrameView& frame) {
  PieceFrameReader reader;
  Status status = reader.Read(frame, kPieceElements);
  if (!status.ok()) {
    EXPECT_TRUE(reader.stripes().empty() && reader.values().empty()) << "nothing of a bad frame";
    return status;
  }
  uint64_t element_count = 0;
  std::vector<uint32_t> stripes;
  for (const StripeUpdate& update : reader.stripes()) {
    const uint32_t stripe_elements = update.stripe < 2 ? kMaxStripeElements : 100;
    EXPECT_LE(update.stripe, 2u);
    EXPECT_EQ(std::ranges::count(stripes, update.stripe), 0);
    stripes.push_back(update.stripe);
    EXPECT_EQ(update.values.size(), update.dense ? stripe_elements : update.indexes.size());
    for (size_t i = 0; i < update.indexes.size(); ++i) {
      EXPECT_LT(update.indexes[i], stripe_elements);
      EXPECT_TRUE(i == 0 || update.indexes[i - 1] < update.indexes[i]);
    }
    element_count += update.values.size();
  }
  EXPECT_EQ(element_count, frame.header.count);
  EXPECT_EQ(element_count, reader.values().size());
  return OkStatus();
}

void ExpectSoundIds(const std::vector<uint64_t>& ids, uint32_t count) {
  EXPECT_EQ(ids.size(), count);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_LT(ids[i], kTableRows);
    EXPECT_TRUE(i == 0 || ids[i - 1] < ids[i]);
  }
}

// The first elements of a piece.
Status DecodeAgreed(const FrameView& frame) {
  std::vector<uint32_t> offsets(kAgreedElements);
  std::iota(offsets.begin(), offsets.end(), 0);
  AgreedFrameReader reader;
  WEIR_RETURN_IF_ERROR(reader.Read(frame, offsets));
  size_t element_count = 0;
  for (const StripeUpdate& update : reader.stripes()) element_count += update.values.size();
  EXPECT_EQ(element_count, offsets.size());
  return OkStatus();
}

Status DecodeRows(const FrameView& frame) {
  std::vector<uint64_t> ids;
  std::vector<float> values;
  const uint32_t count = frame.header.count;
  if (frame.header.kind == FrameKind::kRowIds) {
    WEIR_RETURN_IF_ERROR(DecodeRowIds(frame, kDimension, kTableRows, &ids));
    ExpectSoundIds(ids, count);
    return OkStatus();
  }
  if (frame.header.kind == FrameKind::kRowGradients) {
    WEIR_RETURN_IF_ERROR(DecodeRowGradients(frame, kDimension, kTableRows, &ids, &values));
    ExpectSoundIds(ids, count);
  } else {
    WEIR_RETURN_IF_ERROR(DecodeRowValues(frame, kDimension, count, &values));
  }
  EXPECT_EQ(values.size(), size_t{count} * kDimension);
  return OkStatus();
}

// Decodes a lone frame whatever its kind; a success that contradicts itself fails the test.
Status Decode(const Bytes& bytes) {
  FrameCursor cursor(bytes);
  WEIR_ASSIGN_OR_RETURN(const FrameView frame, cursor.Next());
  if (!cursor.done()) return InvalidData("more than a frame");
  switch (frame.header.kind) {
    case FrameKind::kGradient:
    case FrameKind::kValues:
    case FrameKind::kActivations:
    case FrameKind::kActivationGradients:
      return DecodePiece(frame);
    case FrameKind::kAgreedGradients:
    case FrameKind::kAgreedValues:
      return DecodeAgreed(frame);
    case FrameKind::kElementIds: {
      std::vector<uint32_t> offsets;
      WEIR_RETURN_IF_ERROR(DecodeElementIds(frame, kPieceElements, &offsets));
      ExpectSoundIds({offsets.begin(), offsets.end()}, frame.header.count);
      return OkStatus();
    }
    case FrameKind::kRowIds:
    case FrameKind::kRowValues:
    case FrameKind::kRowGradients:
      return DecodeRows(frame);
    case FrameKind::kPieceState: {
      std::vector<float> state;
      WEIR_RETURN_IF_ERROR(DecodePieceState(frame, &state));
      EXPECT_EQ(state.size(), frame.header.count);
      return OkStatus();
    }
    case FrameKind::kSavedRows: {
      std::vector<uint64_t> ids;
      ByteSpan rows;
      WEIR_RETURN_IF_ERROR(DecodeSavedRows(frame, kDimension, kTableRows, &ids, &rows));
      EXPECT_EQ(rows.size(), ids.size() * kDimension * sizeof(float));
      return OkStatus();
    }
    case FrameKind::kPolicyState: {
      Bytes state;
      WEIR_RETURN_IF_ERROR(DecodePolicyState(frame, 0, &state));
      EXPECT_EQ(state.size(), frame.header.count);
      return OkStatus();
    }
    case FrameKind::kScores:
      break;
  }
  std::vector<float> scores;
  std::vector<uint8_t> labels;
  WEIR_RETURN_IF_ERROR(DecodeScores(frame, &scores, &labels));
  EXPECT_EQ(scores.size(), frame.header.count);
  EXPECT_EQ(labels.size(), frame.header.count);
  return OkStatus();
}

// Stripe 2 at the density first, then a run of Rice codes over stripes 0 and 1.
Bytes PieceSample(FrameKind kind, const ValueFormat& format, double density) {
  RandomStream random(1);
  Bytes bytes;
  PieceFrameWriter writer;
  writer.Open(&bytes, kind, 1, 0, format);
  for (const uint32_t stripe : {2u, 0u, 1u}) {
    const uint32_t stripe_elements = stripe == 2 ? 100 : kMaxStripeElements;
    const double stripe_density = stripe == 2 ? density : 0.003;
    const auto indexes = RandomIndexes(random, stripe_elements, stripe_density);
    std::vector<float> values = RandomValues(random, indexes.size());
    for (size_t i = 0; i < values.size() && IsScaled(format.coding); ++i) {
      values[i] =
          RandomScaledValue(random, format, int64_t{stripe} * kMaxStripeElements + indexes[i]);
    }
    writer.Append(stripe, stripe_elements, indexes, values);
  }
  writer.Finish();
  return bytes;
}

// The frame with the header that goes before long payloads.
Bytes WithFullVarints(const Bytes& frame) {
  const FrameView view = OnlyFrame(frame);
  Bytes padded(frame.begin(), frame.begin() + 7);
  for (uint32_t number :
       {view.header.tensor, view.header.begin, view.header.count, view.header.length}) {
    for (int i = 0; i < 4; ++i, number >>= 7) padded.push_back((number & 0x7f) | 0x80);
    padded.push_back(static_cast<uint8_t>(number));
  }
  padded.insert(padded.end(), view.payload.begin(), view.payload.end());
  Reseal(&padded);
  return padded;
}

std::vector<Bytes> Samples() {
  RandomStream random(2);
  const std::vector<uint64_t> ids = {0, 1, 17, 900, 901, 5000, 9999};
  const std::vector<float> values = RandomValues(random, ids.size() * kDimension);
  constexpr float kScale = 0.5f;
  ValueFormat levels = ValueCoding::kLevels;
  levels.bits = 3;
  levels.bucket_log2 = 8;
  levels.two_sided = true;
  const std::vector<float> scales(levels.ScaleCount(kPieceElements), 0.25f);
  levels.scales = scales;
  std::vector<Bytes> samples = {
      PieceSample(FrameKind::kGradient, ValueCoding::kBf16, 0.05),  // Rice
      PieceSample(FrameKind::kGradient, ValueCoding::kF32, 0.6),    // bitmap
      PieceSample(FrameKind::kGradient, ValueFormat(ValueCoding::kPowers, 4, &kScale), 0.2),
      PieceSample(FrameKind::kGradient, levels, 0.2),
      PieceSample(FrameKind::kActivations, levels, 0.2),
      PieceSample(FrameKind::kActivationGradients, ValueCoding::kBf16, 1),
      PieceSample(FrameKind::kValues, ValueCoding::kF32, 1)};  // dense
  AppendRowIds(&samples.emplace_back(), 1, kDimension, ids);
  AppendRowValues(&samples.emplace_back(), 1, kDimension, values, ValueCoding::kBf16);
  AppendRowGradients(&samples.emplace_back(), 1, kDimension, ids, values, ValueCoding::kF32);
  AppendScores(&samples.emplace_back(), values, Bytes(values.size(), 1));
  AppendPieceState(&samples.emplace_back(), 1, 0, values);
  AppendSavedRows(&samples.emplace_back(), 1, kDimension, ids, values);
  AppendPolicyState(&samples.emplace_back(), 3, Bytes(100, 7));
  samples.push_back(WithFullVarints(samples.back()));
  AppendElementIds(&samples.emplace_back(), 1, 0, std::vector<uint32_t>{0, 1, 17, 900, 5000, 8000});
  PieceFrameWriter writer;
  AppendAgreed(&samples.emplace_back(), FrameKind::kAgreedGradients, 1, 0, ValueCoding::kBf16,
               RandomValues(random, kAgreedElements), &writer);
  return samples;
}

TEST(DamagedFrames, AreWholeBeforeTheDamage) {
  for (const Bytes& sample : Samples()) EXPECT_TRUE(Decode(sample).ok()) << Decode(sample);
}

TEST(DamagedFrames, AreRefusedWhenCutAtAnyByte) {
  for (const Bytes& sample : Samples()) {
    for (size_t size = 0; size < sample.size(); ++size) {
      Bytes cut(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(size));
      ASSERT_FALSE(Decode(cut).ok()) << size;
      Reseal(&cut);
      ASSERT_FALSE(Decode(cut).ok()) << "sealed again, " << size;
    }
    const FrameView whole = OnlyFrame(sample);
    for (size_t size = 0; size < whole.payload.size(); ++size) {
      ASSERT_FALSE(Decode(MakeFrame(whole.header, whole.payload.first(size))).ok()) << size;
    }
  }
}

TEST(DamagedFrames, AreRefusedWhenBytesAreAdded) {
  for (const Bytes& sample : Samples()) {
    const FrameView whole = OnlyFrame(sample);
    Bytes payload(whole.payload.begin(), whole.payload.end());
    for (int added = 1; added < 20; ++added) {
      payload.push_back(0);
      ASSERT_FALSE(Decode(MakeFrame(whole.header, payload)).ok()) << added;
    }
  }
}

TEST(DamagedFrames, AreRefusedForAnyFlippedBit) {
  for (Bytes bytes : Samples()) {
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<uint8_t>(1u << bit % 8);
      bytes[bit / 8] ^= mask;
      ASSERT_FALSE(Decode(bytes).ok()) << "bit " << bit;
      bytes[bit / 8] ^= mask;
    }
  }
}

TEST(DamagedFrames, AreSoundOrRefusedWhenSealedAgain) {
  RandomStream random(3);
  for (const Bytes& sample : Samples()) {
    for (size_t bit = 0; bit < 8 * sample.size(); ++bit) {
      Bytes bytes = sample;
      bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      Reseal(&bytes);
      std::ignore = Decode(bytes);
      const uint64_t second = random.NextBelow(8 * sample.size());
      bytes[second / 8] ^= static_cast<uint8_t>(1u << second % 8);
      Reseal(&bytes);
      std::ignore = Decode(bytes);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "bits " << bit << " and " << second;
    }
  }
}

// Few and mostly small bytes, so that many come far into a decoder.
Bytes RandomPayload(RandomStream& random) {
  Bytes payload(random.NextBelow(24));
  const uint64_t bound = uint64_t{1} << (1 + random.NextBelow(8));
  for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random.NextBelow(bound));
  return payload;
}

TEST(DamagedFrames, MayBeGarbageUnderAGoodChecksum) {
  RandomStream random(4);
  int accepted_count = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto kind = static_cast<FrameKind>(1 + random.NextBelow(6));
    const bool rows = kind >= FrameKind::kRowIds && kind <= FrameKind::kRowGradients;
    const FrameHeader header = {.kind = kind,
                                .coding = static_cast<ValueCoding>(1 + random.NextBelow(2)),
                                .begin = rows ? kDimension : 0,
                                .count = static_cast<uint32_t>(random.NextBelow(4))};
    accepted_count += Decode(MakeFrame(header, RandomPayload(random))).ok() ? 1 : 0;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "frame " << i;
  }
  EXPECT_GT(accepted_count, 1000) << "the garbage no longer reaches the decoders' insides";
}

TEST(DamagedFrames, AreRefusedForAnImpossibleCount) {
  for (const Bytes& sample : Samples()) {
    const FrameView whole = OnlyFrame(sample);
    FrameHeader header = whole.header;
    header.count = 0xffffffff;
    EXPECT_FALSE(Decode(MakeFrame(header, whole.payload)).ok());
  }
}

}  // namespace
}  // namespace weir::wire
