#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/wire/bitmap.h"
#include "common/wire/piece_frame.h"

namespace weir::wire {
namespace {

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

void PieceFrameWriter::Open(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin,
                            const ValueFormat& format) {
  CHECK(out_ == nullptr) << "a frame is open";
  CHECK(HasElements(kind)) << FrameKindName(kind);
  out_ = out;
  frame_begin_ = OpenFrame(out);
  header_ = {.kind = kind, .coding = format.coding, .tensor = tensor, .begin = begin};
  format_ = format;
  count_ = 0;
  if (IsScaled(format.coding)) PutScales();
}

void PieceFrameWriter::PutScales() {
  CHECK(MayBeScaled(header_.kind)) << FrameKindName(header_.kind);
  CHECK(format_.bits >= 1 && format_.bits <= MaxCodeBits(format_.coding)) << format_.bits;
  CHECK(format_.bucket_log2 == 0 ||
        (format_.bucket_log2 >= kMinBucketLog2 && format_.bucket_log2 <= kMaxBucketLog2));
  ByteWriter writer(*out_);
  writer.Put(static_cast<uint8_t>(format_.bits | (format_.two_sided ? kTwoSided : 0u)));
  writer.Put(static_cast<uint8_t>(format_.bucket_log2));
  writer.PutRaw(format_.scales.data(), format_.scales.size_bytes());
}

void PieceFrameWriter::Append(uint32_t stripe, uint32_t stripe_elements,
                              std::span<const uint16_t> indexes, std::span<const float> values) {
  CHECK(out_ != nullptr) << "no frame is open";
  CHECK_EQ(indexes.size(), values.size());
  CHECK_LE(stripe_elements, kMaxStripeElements);
  if (indexes.empty()) return;
  CHECK_LT(indexes.back(), stripe_elements);
  if (indexes.size() == stripe_elements) return AppendDense(stripe, values);
  values = InUnits(stripe, indexes, values);
  const size_t head_bits = 8 * (1 + VarintBytes(stripe) + VarintBytes(indexes.size()));
  if (TakesBitmap(stripe_elements, indexes)) {
    PutHead(IndexCoding::kBitmap, 0, stripe);
    ByteWriter(*out_).PutVarint(indexes.size());
    AppendValues(values, format_, out_);
    AppendBitmap(indexes, stripe_elements, out_);
  } else {
    if (!run_.MayJoin(stripe, indexes, head_bits)) FinishRun();
    run_.Add(stripe, indexes);
    KeepRunValues(values);
  }
  count_ += values.size();
}

// Where less than a quarter is selected, Rice codes are smaller.
bool PieceFrameWriter::TakesBitmap(uint32_t stripe_elements, std::span<const uint16_t> indexes) {
  if (4 * indexes.size() < stripe_elements) return false;
  alone_.Clear();
  alone_.Add(0, indexes);
  return BitmapBytes(stripe_elements) <= alone_.ChooseParameters().bytes();
}

// What AppendValues takes; indexes: none for a dense stripe.
std::span<const float> PieceFrameWriter::InUnits(uint32_t stripe, std::span<const uint16_t> indexes,
                                                 std::span<const float> values) {
  if (!IsScaled(format_.coding) || format_.bits == 1) return values;
  units_.resize(kMaxStripeElements);
  const int64_t first = int64_t{stripe} * kMaxStripeElements;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t element = first + (indexes.empty() ? static_cast<int64_t>(i) : indexes[i]);
    units_[i] = values[i] / format_.scales[format_.ScaleIndex(element, std::signbit(values[i]))];
  }
  return std::span(units_).first(values.size());
}

void PieceFrameWriter::AppendDense(uint32_t stripe, std::span<const float> values) {
  CHECK(out_ != nullptr) << "no frame is open";
  CHECK(!values.empty());
  CHECK_LE(values.size(), kMaxStripeElements);
  PutHead(IndexCoding::kDense, 0, stripe);
  AppendValues(InUnits(stripe, {}, values), format_, out_);
  count_ += values.size();
}

void PieceFrameWriter::FinishRun() {
  if (run_.empty()) return;
  const RiceSize size = run_.ChooseParameters();
  PutHead(IndexCoding::kRice, size.parameter, run_.first_stripe());
  ByteWriter(*out_).PutVarint(run_.count());
  AppendValues(std::span(run_values_).first(run_.count()), format_, out_);
  run_.Finish(size, out_);
}

// values: of the stripe that has just joined the run.
void PieceFrameWriter::KeepRunValues(std::span<const float> values) {
  if (run_values_.size() < run_.count()) {
    run_values_.resize(std::max(2 * run_values_.size(), run_.count()));
  }
  std::ranges::copy(values, run_values_.data() + run_.count() - values.size());
}

void PieceFrameWriter::PutHead(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe) {
  ByteWriter writer(*out_);
  writer.Put(static_cast<uint8_t>(static_cast<uint32_t>(coding) | rice_parameter << 2));
  writer.PutVarint(stripe);
}

size_t PieceFrameWriter::Finish() {
  CHECK(out_ != nullptr) << "no frame is open";
  FinishRun();
  CHECK_LE(count_, std::numeric_limits<uint32_t>::max());
  header_.count = static_cast<uint32_t>(count_);
  Bytes* const out = std::exchange(out_, nullptr);
  return CloseFrame(out, frame_begin_, header_);
}

void PieceFrameWriter::Discard() {
  CHECK(out_ != nullptr) << "no frame is open";
  run_.Clear();
  std::exchange(out_, nullptr)->resize(frame_begin_);
}

}  // namespace weir::wire
