// The decoders of every frame kind and coding, behind the checksum, which would stop nearly every
// damaged input. The input begins with what the header says, a byte each: kind, value coding,
// begin, and two for the count; the rest is the payload.
#include <algorithm>
#include <cmath>
#include <span>

#include "common/base/check.h"
#include "common/wire/frame.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/score_frame.h"
#include "common/wire/state_frame.h"
#include "tests/fuzz/target.h"

namespace weir::fuzz {
namespace {

using wire::FrameKind;
using wire::ValueCoding;

constexpr uint32_t kPieceElements = 2 * wire::kMaxStripeElements + 100;
constexpr uint32_t kDimension = 4;
constexpr uint64_t kTableRows = 10'000;
constexpr size_t kHeadBytes = 5;

void ReadPiece(const wire::FrameView& frame) {
  static wire::PieceFrameReader reader;  // kept, as its users keep it
  if (!reader.Read(frame, kPieceElements).ok()) return;
  size_t values = 0;
  for (const wire::StripeUpdate& update : reader.stripes()) {
    values += update.values.size();
    const uint32_t begin = update.stripe * wire::kMaxStripeElements;
    CHECK_LT(begin, kPieceElements);
    const uint32_t length = std::min(wire::kMaxStripeElements, kPieceElements - begin);
    if (update.dense) {
      CHECK_EQ(update.values.size(), length);
      continue;
    }
    CHECK_EQ(update.indexes.size(), update.values.size());
    CHECK(std::ranges::is_sorted(update.indexes, std::ranges::less_equal()));
    CHECK_LT(update.indexes.back(), length);
  }
  CHECK_EQ(values, frame.header.count);
  if (!wire::IsScaled(frame.header.coding)) return;
  for (const float value : reader.values()) CHECK(!std::isnan(value));
}

void CheckIds(const std::vector<uint64_t>& ids, uint32_t count) {
  CHECK_EQ(ids.size(), count);
  CHECK(std::ranges::is_sorted(ids, std::ranges::less_equal()));
  CHECK(ids.empty() || ids.back() < kTableRows);
}

void ReadRows(const wire::FrameView& frame) {
  std::vector<uint64_t> ids;
  std::vector<float> values;
  const uint32_t count = frame.header.count;
  if (wire::DecodeRowIds(frame, kDimension, kTableRows, &ids).ok()) CheckIds(ids, count);
  if (wire::DecodeRowValues(frame, kDimension, count, &values).ok()) {
    CHECK_EQ(values.size(), size_t{count} * kDimension);
  }
  if (wire::DecodeRowGradients(frame, kDimension, kTableRows, &ids, &values).ok()) {
    CheckIds(ids, count);
    CHECK_EQ(values.size(), size_t{count} * kDimension);
  }
  ByteSpan rows;
  if (wire::DecodeSavedRows(frame, kDimension, kTableRows, &ids, &rows).ok()) {
    CheckIds(ids, count);
    CHECK_EQ(rows.size(), size_t{count} * kDimension * sizeof(float));
  }
}

void ReadRest(const wire::FrameView& frame) {
  std::vector<float> values;
  std::vector<uint8_t> labels;
  if (wire::DecodeScores(frame, &values, &labels).ok()) {
    CHECK_EQ(values.size(), frame.header.count);
    CHECK_EQ(labels.size(), values.size());
  }
  if (wire::DecodePieceState(frame, &values).ok()) {
    CHECK_EQ(values.size(), frame.header.count);
  }
}

// A whole frame as an input of this target.
std::string Seed(const Bytes& frame) {
  const wire::FrameView view = wire::FrameCursor(frame).Next().value();
  const wire::FrameHeader& header = view.header;
  std::string seed = {static_cast<char>(header.kind), static_cast<char>(header.coding),
                      static_cast<char>(header.begin), static_cast<char>(header.count),
                      static_cast<char>(header.count >> 8)};
  return seed.append(view.payload.begin(), view.payload.end());
}

// Stripe 2 as a bitmap, stripes 0 and 1 as Rice codes in two groups with a parameter each.
std::string PieceSeed(const wire::ValueFormat& format, float value) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, format);
  std::vector<uint16_t> odd(50);
  for (size_t i = 0; i < odd.size(); ++i) odd[i] = static_cast<uint16_t>(2 * i + 1);
  const std::vector<uint16_t> near(odd.begin(), odd.begin() + 16), far = {5, 1000};
  writer.Append(2, 100, odd, std::vector<float>(odd.size(), value));
  writer.Append(0, wire::kMaxStripeElements, near, std::vector<float>(near.size(), value));
  writer.Append(1, wire::kMaxStripeElements, far, std::vector<float>{-value, value});
  writer.Finish();
  return Seed(bytes);
}

std::string DenseSeed(const wire::ValueFormat& format) {
  Bytes bytes;
  wire::PieceFrameWriter writer;
  writer.Open(&bytes, FrameKind::kGradient, 1, 0, format);
  writer.AppendDense(2, std::vector<float>(100, 1));
  writer.Finish();
  return Seed(bytes);
}

void ReadInput(const uint8_t* data, size_t size) {
  if (size < kHeadBytes) return;
  wire::FrameView frame;
  frame.header.kind = static_cast<FrameKind>(1 + (data[0] + 255u) % 8);
  frame.header.coding = static_cast<ValueCoding>(1 + (data[1] + 3u) % 4);
  frame.header.tensor = 1;
  frame.header.begin = data[2];
  frame.header.count = data[3] | static_cast<uint32_t>(data[4]) << 8;
  frame.payload = {data + kHeadBytes, size - kHeadBytes};
  frame.header.length = static_cast<uint32_t>(frame.payload.size());
  // What the cursor holds every frame to.
  const bool is_gradient = frame.header.kind == FrameKind::kGradient;
  if (wire::IsScaled(frame.header.coding) && !is_gradient) return;
  if (frame.header.count > 8 * uint64_t{frame.header.length}) return;
  if (is_gradient || frame.header.kind == FrameKind::kValues) {
    ReadPiece(frame);
  } else {
    ReadRows(frame);
    ReadRest(frame);
  }
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const float one = 1;
  const std::vector<float> scales((kPieceElements + 1023) / 1024 * 2, 1);
  wire::ValueFormat levels = ValueCoding::kLevels;
  levels.bits = 3;
  levels.bucket_log2 = 10;
  levels.two_sided = true;
  levels.scales = scales;
  const std::vector<uint64_t> ids = {3, 17, 900, 9999};
  const std::vector<float> values(ids.size() * kDimension, 0.5f);
  std::vector<std::string> seeds = {PieceSeed(ValueCoding::kF32, 0.5f),
                                    PieceSeed(ValueCoding::kBf16, 0.5f),
                                    PieceSeed(levels, 2),
                                    PieceSeed({ValueCoding::kPowers, 4, &one}, 0.25f),
                                    DenseSeed(ValueCoding::kF32),
                                    DenseSeed(levels)};
  std::vector<Bytes> rows(6);
  wire::AppendRowIds(&rows[0], 1, kDimension, ids);
  wire::AppendRowValues(&rows[1], 1, kDimension, values, ValueCoding::kBf16);
  wire::AppendRowGradients(&rows[2], 1, kDimension, ids, values, ValueCoding::kBf16);
  wire::AppendSavedRows(&rows[3], 1, kDimension, ids, values);
  wire::AppendScores(&rows[4], values, Bytes(values.size(), 1));
  wire::AppendPieceState(&rows[5], 1, 0, values);
  for (const Bytes& frame : rows) seeds.push_back(Seed(frame));
  return seeds;
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::ReadInput(data, size);
  return 0;
}
