#include "common/saved_model/frames.h"

#include <algorithm>
#include <optional>

#include "common/base/strings.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/state_frame.h"

namespace weir::saved_model {
namespace {

// Frames in their order, a piece's two together.
class FrameVisitor {
 public:
  FrameVisitor(const ModelLayout& layout, const Visitor& visitor)
      : layout_(layout), visitor_(visitor) {}

  Status Visit(const wire::FrameView& frame) {
    switch (frame.header.kind) {
      case wire::FrameKind::kValues:
        FlushPiece();
        return TakeValues(frame);
      case wire::FrameKind::kPieceState:
        return TakeState(frame);
      case wire::FrameKind::kSavedRows:
        FlushPiece();
        return TakeRows(frame);
      default:
        return InvalidData(StrCat("a ", wire::DescribeFrame(frame.header), " in a saved model"));
    }
  }

  void FlushPiece() {
    if (!piece_) return;
    piece_->values = values_;
    piece_->state = state_;
    visitor_.piece(*piece_);
    piece_.reset();
  }

 private:
  Status TakeValues(const wire::FrameView& frame) {
    const wire::FrameHeader& header = frame.header;
    const PieceSpec* spec = FindPiece(header);
    if (spec == nullptr || header.count != spec->element_count) {
      return InvalidData(StrCat("a ", wire::DescribeFrame(header), " with ", header.count,
                                " elements, which the model has not"));
    }
    WEIR_RETURN_IF_ERROR(reader_.Read(frame, header.count));
    values_.resize(header.count);
    for (const wire::StripeUpdate& update : reader_.stripes()) {
      std::copy(update.values.begin(), update.values.end(),
                values_.begin() + update.stripe * kStripeElements);
    }
    piece_ = SavedPiece{.tensor = header.tensor, .begin = header.begin, .values = {}, .state = {}};
    state_.clear();
    return OkStatus();
  }

  Status TakeState(const wire::FrameView& frame) {
    if (!piece_ || piece_->tensor != frame.header.tensor || piece_->begin != frame.header.begin) {
      return InvalidData(StrCat("a ", wire::DescribeFrame(frame.header), " without its values"));
    }
    return wire::DecodePieceState(frame, &state_);
  }

  Status TakeRows(const wire::FrameView& frame) {
    const uint32_t table = frame.header.tensor, row_floats = frame.header.begin;
    if (table >= layout_.tables().size()) {
      return InvalidData(
          StrCat("rows of table ", table, "; the model has ", layout_.tables().size(), " tables"));
    }
    if (row_floats < static_cast<uint32_t>(layout_.embedding_dimension())) {
      return InvalidData(StrCat("rows of ", row_floats, " numbers; the model's have ",
                                layout_.embedding_dimension(), " values alone"));
    }
    ByteSpan rows;
    WEIR_RETURN_IF_ERROR(wire::DecodeSavedRows(
        frame, row_floats, static_cast<uint64_t>(layout_.tables()[table].row_count), &ids_, &rows));
    visitor_.rows({table, ids_, rows, row_floats});
    return OkStatus();
  }

  const PieceSpec* FindPiece(const wire::FrameHeader& header) const {
    if (header.tensor >= layout_.tensors().size()) return nullptr;
    for (const PieceSpec& spec : layout_.tensor_pieces(header.tensor)) {
      if (spec.begin == header.begin) return &spec;
    }
    return nullptr;
  }

  const ModelLayout& layout_;
  const Visitor& visitor_;
  wire::PieceFrameReader reader_;
  std::optional<SavedPiece> piece_;  // whose state may follow
  std::vector<float> values_, state_;
  std::vector<uint64_t> ids_;
};

}  // namespace

Status VisitFrames(ByteSpan bytes, const ModelLayout& layout, const Visitor& visitor) {
  FrameVisitor frames(layout, visitor);
  wire::FrameCursor cursor(bytes);
  while (!cursor.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, cursor.Next());
    WEIR_RETURN_IF_ERROR(frames.Visit(frame));
    if (visitor.advance) WEIR_RETURN_IF_ERROR(visitor.advance(frame.frame_bytes()));
  }
  frames.FlushPiece();
  return OkStatus();
}

}  // namespace weir::saved_model
