#include "common/split/block_frames.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::split {
namespace {

constexpr uint32_t kStripe = wire::kMaxStripeElements;

void SetZero(const kernels::MatrixView& block) {
  for (int64_t f = 0; f < block.row_count; ++f) std::fill_n(block.row(f), block.column_count, 0.0f);
}

size_t ElementCount(const kernels::ConstMatrixView& block) {
  return static_cast<size_t>(block.row_count * block.column_count);
}

}  // namespace

void BlockFrames::AppendAll(wire::FrameKind kind, const BlockName& name,
                            const kernels::ConstMatrixView& block, const wire::ValueFormat& format,
                            Bytes* out) {
  values_.resize(ElementCount(block));
  for (int64_t f = 0; f < block.row_count; ++f) {
    std::copy_n(block.row(f), block.column_count, values_.data() + f * block.column_count);
  }
  AppendValues(kind, name, values_, format, out);
}

void BlockFrames::AppendAt(wire::FrameKind kind, const BlockName& name,
                           std::span<const uint32_t> positions,
                           const kernels::ConstMatrixView& block, const wire::ValueFormat& format,
                           Bytes* out) {
  values_.resize(positions.size());
  ForEachPosition(positions, block.column_count, block.stride,
                  [&](size_t i, int64_t index) { values_[i] = block.data[index]; });
  AppendValues(kind, name, values_, format, out);
}

void BlockFrames::AppendValues(wire::FrameKind kind, const BlockName& name,
                               std::span<const float> values, const wire::ValueFormat& format,
                               Bytes* out) {
  writer_.Open(out, kind, name.split, name.slice, format);
  for (size_t begin = 0; begin < values.size(); begin += kStripe) {
    writer_.AppendDense(
        static_cast<uint32_t>(begin / kStripe),
        values.subspan(begin).first(std::min<size_t>(kStripe, values.size() - begin)));
  }
  writer_.Finish();
}

void BlockFrames::AppendSome(wire::FrameKind kind, const BlockName& name, int64_t element_count,
                             std::span<const uint32_t> positions, std::span<const float> values,
                             const wire::ValueFormat& format, Bytes* out) {
  CHECK_EQ(positions.size(), values.size());
  writer_.Open(out, kind, name.split, name.slice, format);
  for (size_t first = 0, end = 0; first < positions.size(); first = end) {
    const uint32_t stripe = positions[first] / kStripe, begin = stripe * kStripe;
    offsets_.clear();
    for (; end < positions.size() && positions[end] - begin < kStripe; ++end) {
      offsets_.push_back(static_cast<uint16_t>(positions[end] - begin));
    }
    writer_.Append(stripe, static_cast<uint32_t>(std::min<int64_t>(kStripe, element_count - begin)),
                   offsets_, values.subspan(first, end - first));
  }
  writer_.Finish();
}

Status BlockFrames::Read(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                         size_t element_count) {
  const wire::FrameHeader& header = frame.header;
  if (header.kind != kind || header.tensor != name.split || header.begin != name.slice) {
    return InvalidData(StrCat("expected ", wire::FrameKindName(kind), " of split ", name.split,
                              ", slice ", name.slice, ", got a ", wire::DescribeFrame(header)));
  }
  return reader_.Read(frame, static_cast<uint32_t>(element_count));
}

Status BlockFrames::ReadAt(const wire::FrameView& frame, wire::FrameKind kind,
                           const BlockName& name, size_t element_count) {
  WEIR_RETURN_IF_ERROR(Read(frame, kind, name, element_count));
  if (frame.header.count != element_count) {
    return InvalidData(StrCat(wire::DescribeFrame(frame.header), " has ", frame.header.count,
                              " values where ", element_count, " are expected"));
  }
  values_.resize(element_count);
  for (const wire::StripeUpdate& update : reader_.stripes()) {
    std::ranges::copy(update.values, values_.data() + size_t{update.stripe} * kStripe);
  }
  return OkStatus();
}

Status BlockFrames::TakeAll(const wire::FrameView& frame, wire::FrameKind kind,
                            const BlockName& name, const kernels::MatrixView& block) {
  WEIR_RETURN_IF_ERROR(ReadAt(frame, kind, name, ElementCount(block)));
  for (int64_t f = 0; f < block.row_count; ++f) {
    std::copy_n(values_.data() + f * block.column_count, block.column_count, block.row(f));
  }
  return OkStatus();
}

Status BlockFrames::ReadSome(const wire::FrameView& frame, wire::FrameKind kind,
                             const BlockName& name, int64_t element_count) {
  WEIR_RETURN_IF_ERROR(Read(frame, kind, name, static_cast<size_t>(element_count)));
  // A writer holds some blocks back, so stripes come in any order; values go back in that of their
  // positions.
  stripes_.assign(reader_.stripes().begin(), reader_.stripes().end());
  std::ranges::sort(stripes_, {}, &wire::StripeUpdate::stripe);
  positions_.clear();
  values_.clear();
  for (const wire::StripeUpdate& update : stripes_) {
    const uint32_t begin = update.stripe * kStripe;
    for (size_t i = 0; i < update.values.size(); ++i) {
      positions_.push_back(begin + (update.dense ? static_cast<uint32_t>(i) : update.indexes[i]));
      values_.push_back(update.values[i]);
    }
  }
  return OkStatus();
}

Status BlockFrames::TakeSome(const wire::FrameView& frame, wire::FrameKind kind,
                             const BlockName& name, const kernels::MatrixView& block) {
  WEIR_RETURN_IF_ERROR(ReadSome(frame, kind, name, block.row_count * block.column_count));
  SetZero(block);
  ForEachPosition(positions_, block.column_count, block.stride,
                  [&](size_t i, int64_t index) { block.data[index] = values_[i]; });
  return OkStatus();
}

Status BlockFrames::TakeAt(const wire::FrameView& frame, wire::FrameKind kind,
                           const BlockName& name, std::span<const uint32_t> positions,
                           const kernels::MatrixView& block) {
  WEIR_RETURN_IF_ERROR(ReadAt(frame, kind, name, positions.size()));
  SetZero(block);
  ForEachPosition(positions, block.column_count, block.stride,
                  [&](size_t i, int64_t index) { block.data[index] = values_[i]; });
  return OkStatus();
}

}  // namespace weir::split
