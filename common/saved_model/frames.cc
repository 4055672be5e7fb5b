#include "common/saved_model/frames.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "common/base/strings.h"
#include "common/wire/piece_frame.h"
#include "common/wire/row_frame.h"
#include "common/wire/state_frame.h"

namespace weir::saved_model {
namespace {

// Rows at a time: below the least cluster.max_message_bytes.
constexpr uint64_t kSectionBytes = uint64_t{1} << 18;

struct RowView {
  uint32_t table;
  uint64_t id;
  std::span<const float> values, state;
};

// The frame of the rows of one table, in the order of their ids.
void AppendTable(std::span<const RowView> rows, size_t row_floats, Bytes* out) {
  std::vector<uint64_t> ids;
  std::vector<float> floats;
  for (const RowView& row : rows) {
    ids.push_back(row.id);
    floats.insert(floats.end(), row.values.begin(), row.values.end());
    floats.insert(floats.end(), row.state.begin(), row.state.end());
  }
  wire::AppendSavedRows(out, rows.front().table, static_cast<uint32_t>(row_floats), ids, floats);
}

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

Status CheckFinite(const std::string& tensor, std::span<const float> values) {
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    return OkStatus();
  }
  return InvalidData(StrCat(tensor,
                            " has a value that is NaN or infinite: training has diverged, "
                            "and the model is not saved; lower the learning rates"));
}

void AppendPiece(const PieceSpec& spec, std::span<const float> values, std::span<const float> state,
                 Bytes* out) {
  const auto begin = static_cast<uint32_t>(spec.begin);
  wire::PieceFrameWriter writer;
  writer.Open(out, wire::FrameKind::kValues, spec.tensor, begin, wire::ValueCoding::kF32);
  uint32_t stripe = 0;
  for (; !values.empty(); ++stripe) {
    const size_t count = std::min(values.size(), static_cast<size_t>(kStripeElements));
    writer.AppendDense(stripe, values.first(count));
    values = values.subspan(count);
  }
  writer.Finish();
  if (!state.empty()) wire::AppendPieceState(out, spec.tensor, begin, state);
}

uint64_t AppendRows(uint64_t first, uint64_t step, store::RowPartitionStore* rows, Bytes* out) {
  const auto row_count = static_cast<uint64_t>(rows->row_count());
  const auto begin = static_cast<uint32_t>(std::min(first, row_count));
  const uint64_t most = kSectionBytes / (rows->row_floats() * sizeof(float)) + 1;
  const auto end = static_cast<uint32_t>(std::min(row_count, begin + most));
  rows->Settle(begin, end, step);
  std::vector<RowView> views;
  rows->ForEachRow(begin, end,
                   [&](uint32_t table, uint64_t id, std::span<const float> values,
                       std::span<const float> state) {
                     views.push_back({table, id, values, state});
                   });
  std::ranges::sort(views, {}, [](const RowView& row) { return std::tuple(row.table, row.id); });
  for (auto from = views.begin(); from != views.end();) {
    const auto to = std::find_if(from, views.end(),
                                 [&](const RowView& row) { return row.table != from->table; });
    AppendTable({from, to}, rows->row_floats(), out);
    from = to;
  }
  return end < row_count ? end : 0;
}

Status TakeRows(uint64_t step, store::RowPartitionStore* rows,
                const std::function<Status(ByteSpan frames)>& take) {
  Bytes frames;
  uint64_t next = 0;
  do {
    frames.clear();
    next = AppendRows(next, step, rows, &frames);
    WEIR_RETURN_IF_ERROR(take(frames));
  } while (next > 0);
  return OkStatus();
}

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
