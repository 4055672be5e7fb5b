#include <limits>

#include "common/base/check.h"
#include "common/wire/piece_frame.h"

namespace weir::wire {

PieceFrameWriter::PieceFrameWriter(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin,
                                   ValueCoding coding)
    : out_(out),
      frame_begin_(OpenFrame(out)),
      header_{.kind = kind, .coding = coding, .tensor = tensor, .begin = begin} {
  CHECK(kind == FrameKind::kGradient || kind == FrameKind::kValues) << FrameKindName(kind);
}

void PieceFrameWriter::AppendBlock(uint32_t stripe, uint32_t stripe_elements,
                                   std::span<const uint16_t> indexes,
                                   std::span<const float> values) {
  CHECK_EQ(indexes.size(), values.size());
  if (indexes.empty()) return;
  const IndexPlan plan = PlanIndexes(indexes, stripe_elements);
  if (plan.coding == IndexCoding::kDense) return AppendDenseBlock(stripe, values);
  AppendBlockHead(plan.coding, plan.rice_parameter, stripe);
  ByteWriter(*out_).PutVarint(indexes.size());
  AppendIndexes(indexes, plan, out_);
  AppendValues(values, header_.coding, out_);
  count_ += values.size();
}

void PieceFrameWriter::AppendDenseBlock(uint32_t stripe, std::span<const float> values) {
  CHECK(!values.empty());
  CHECK_LE(values.size(), kMaxBlockElements);
  AppendBlockHead(IndexCoding::kDense, 0, stripe);
  AppendValues(values, header_.coding, out_);
  count_ += values.size();
}

void PieceFrameWriter::AppendBlockHead(IndexCoding coding, uint32_t rice_parameter,
                                       uint32_t stripe) {
  CHECK(open_) << "a block after Finish or Discard";
  ByteWriter writer(*out_);
  writer.Put(static_cast<uint8_t>(static_cast<uint32_t>(coding) | rice_parameter << 2));
  writer.PutVarint(stripe);
}

size_t PieceFrameWriter::Finish() {
  CHECK(open_);
  CHECK_LE(count_, std::numeric_limits<uint32_t>::max());
  open_ = false;
  header_.count = static_cast<uint32_t>(count_);
  return CloseFrame(out_, frame_begin_, header_);
}

void PieceFrameWriter::Discard() {
  CHECK(open_);
  open_ = false;
  out_->resize(frame_begin_);
}

}  // namespace weir::wire
