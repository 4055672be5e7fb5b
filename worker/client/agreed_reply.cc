#include "worker/client/agreed_reply.h"

#include <algorithm>

#include "common/base/strings.h"
#include "common/wire/element_ids.h"

namespace weir::worker {
namespace {

// The server's piece that the frame is of, or null.
const PieceSpec* FindPiece(const ModelLayout& layout, const wire::FrameHeader& header,
                           size_t server) {
  if (header.tensor >= layout.tensors().size()) return nullptr;
  const auto pieces = layout.tensor_pieces(header.tensor);
  const auto found = std::ranges::find(pieces, int64_t{header.begin}, &PieceSpec::begin);
  return found != pieces.end() && found->server == server ? &*found : nullptr;
}

Status ReadFrames(const ModelLayout& layout, size_t server, const session::Body& reply,
                  AgreedPieces* agreed) {
  session::BodyReader reader(reply);
  while (!reader.done()) {
    WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, reader.Next());
    const PieceSpec* const piece = FindPiece(layout, frame.header, server);
    if (piece == nullptr || !agreed->of_piece[piece->id].empty()) {
      return InvalidData("unexpected " + wire::DescribeFrame(frame.header));
    }
    WEIR_RETURN_IF_ERROR(wire::DecodeElementIds(frame, static_cast<uint32_t>(piece->element_count),
                                                &agreed->of_piece[piece->id]));
  }
  return OkStatus();
}

}  // namespace

Result<AgreedPieces> ReadAgreed(const ModelLayout& layout,
                                const std::vector<session::Body>& replies,
                                const std::function<std::string(size_t server)>& name) {
  AgreedPieces agreed;
  agreed.of_piece.resize(layout.pieces().size());
  for (size_t server = 0; server < replies.size(); ++server) {
    const Status status = ReadFrames(layout, server, replies[server], &agreed);
    if (status.ok()) continue;
    return InvalidData(
        StrCat(name(server), " sent a damaged union of proposals: ", status.message()));
  }
  return agreed;
}

}  // namespace weir::worker
