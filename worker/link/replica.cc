#include "worker/link/replica.h"

#include "common/base/hogwild.h"
#include "common/session/body.h"

namespace weir::worker {

Replica::Replica(const ModelLayout& layout)
    : layout_(layout), values_(static_cast<size_t>(layout.flat_element_count())) {
  for (const PieceSpec& piece : layout.pieces()) {
    pieces_[{piece.tensor, static_cast<uint32_t>(piece.begin)}] = &piece;
  }
}

Status Replica::Apply(size_t server, const transport::Message& answer) {
  session::BodyReader reader(answer);
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    WEIR_RETURN_IF_ERROR(ApplyFrame(server, frame));
  }
  return OkStatus();
}

Status Replica::ApplyFrame(size_t server, const wire::FrameView& frame) {
  const auto found = pieces_.find({frame.header.tensor, frame.header.begin});
  const bool is_its_piece = found != pieces_.end() && found->second->server == server &&
                            frame.header.kind == wire::FrameKind::kValues;
  if (!is_its_piece) return InvalidData("unexpected " + wire::DescribeFrame(frame.header));
  const PieceSpec& piece = *found->second;
  float* first = values_.data() + layout_.tensors()[piece.tensor].offset + piece.begin;
  WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(piece.element_count)));
  for (const wire::StripeUpdate& update : reader_.stripes()) {
    float* stripe = first + update.stripe * kStripeElements;
    if (update.dense) {
      hogwild::Copy(update.values.data(), stripe, update.values.size());
    } else {
      hogwild::Scatter(update.values.data(), update.indexes.data(), update.indexes.size(), stripe);
    }
  }
  return OkStatus();
}

}  // namespace weir::worker
