#include <algorithm>

#include "common/base/strings.h"
#include "common/wire/piece_frame.h"

namespace weir::wire {

PieceFrameReader::PieceFrameReader(const FrameView& frame, uint32_t piece_elements)
    : header_(frame.header),
      piece_elements_(piece_elements),
      reader_(frame.payload),
      stripe_seen_((uint64_t{piece_elements} + kMaxBlockElements - 1) / kMaxBlockElements) {
  if (header_.kind != FrameKind::kGradient && header_.kind != FrameKind::kValues) {
    failure_ =
        InvalidData(StrCat("expected a gradient or values frame, got a ", DescribeFrame(header_)));
  } else if (header_.count > piece_elements) {
    failure_ = InvalidData(StrCat(DescribeFrame(header_), ": counts ", header_.count,
                                  " elements, the piece has ", piece_elements));
  }
}

Result<bool> PieceFrameReader::Next(Block* block) {
  WEIR_RETURN_IF_ERROR(failure_);
  const bool at_end = reader_.remaining() == 0;
  const Status status = at_end ? CheckEnd() : ReadBlock(block);
  if (!status.ok()) {
    failure_ = InvalidData(StrCat(DescribeFrame(header_), ": ", status.message()));
    return failure_;
  }
  return !at_end;
}

Status PieceFrameReader::ReadBlock(Block* block) {
  const auto tag = reader_.Get<uint8_t>();
  const uint32_t rice_parameter = tag >> 2;
  const uint32_t coding = tag & 3;
  WEIR_RETURN_IF_ERROR(ReadStripe(block));
  if (coding > static_cast<uint32_t>(IndexCoding::kRice) ||
      (coding != static_cast<uint32_t>(IndexCoding::kRice) && rice_parameter != 0)) {
    return InvalidData(StrCat("stripe ", block->stripe, " has unknown tag ", int{tag}));
  }
  const uint32_t stripe_elements =
      std::min(kMaxBlockElements, piece_elements_ - block->stripe * kMaxBlockElements);
  Status status =
      ReadIndexes(static_cast<IndexCoding>(coding), rice_parameter, stripe_elements, block);
  if (status.ok()) return status;
  return InvalidData(StrCat("stripe ", block->stripe, ": ", status.message()));
}

Status PieceFrameReader::ReadStripe(Block* block) {
  const uint64_t stripe = reader_.GetVarint();
  if (!reader_.ok()) return InvalidData("a block is cut short");
  if (stripe >= stripe_seen_.size()) {
    return InvalidData(
        StrCat("stripe ", stripe, " in a piece of ", stripe_seen_.size(), " stripes"));
  }
  if (stripe_seen_[stripe]) return InvalidData(StrCat("stripe ", stripe, " comes twice"));
  stripe_seen_[stripe] = true;
  block->stripe = static_cast<uint32_t>(stripe);
  return OkStatus();
}

Status PieceFrameReader::ReadIndexes(IndexCoding coding, uint32_t rice_parameter,
                                     uint32_t stripe_elements, Block* block) {
  block->dense = coding == IndexCoding::kDense;
  block->indexes = {};
  if (block->dense) return ReadValues(stripe_elements, block);
  const uint64_t count = reader_.GetVarint();
  if (!reader_.ok()) return InvalidData("the block is cut short");
  if (count == 0 || count > stripe_elements) {
    return InvalidData(StrCat(count, " of ", stripe_elements, " elements selected"));
  }
  const std::span<uint16_t> indexes(indexes_.data(), count);
  ByteReader ahead = reader_;  // index codes do not state how long they are
  WEIR_ASSIGN_OR_RETURN(const size_t index_bytes,
                        DecodeIndexes(coding, rice_parameter, stripe_elements,
                                      ahead.GetSpan(ahead.remaining()), indexes));
  reader_.GetSpan(index_bytes);
  block->indexes = indexes;
  return ReadValues(count, block);
}

Status PieceFrameReader::ReadValues(size_t value_count, Block* block) {
  const ByteSpan bytes = reader_.GetSpan(value_count * ValueBytes(header_.coding));
  if (!reader_.ok()) return InvalidData("the values are cut short");
  const std::span<float> values(values_.data(), value_count);
  DecodeValues(bytes, header_.coding, values);
  block->values = values;
  elements_read_ += value_count;
  return OkStatus();
}

Status PieceFrameReader::CheckEnd() const {
  if (elements_read_ == header_.count) return OkStatus();
  return InvalidData(
      StrCat("the blocks hold ", elements_read_, " elements, the header says ", header_.count));
}

}  // namespace weir::wire
