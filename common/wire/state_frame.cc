#include "common/wire/state_frame.h"

#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {

size_t AppendPieceState(Bytes* out, uint32_t tensor, uint32_t begin, std::span<const float> state) {
  CHECK_LE(state.size(), std::numeric_limits<uint32_t>::max());
  const size_t frame_begin = OpenFrame(out);
  AppendValues(state, ValueCoding::kF32, out);
  return CloseFrame(out, frame_begin,
                    {.kind = FrameKind::kPieceState,
                     .tensor = tensor,
                     .begin = begin,
                     .count = static_cast<uint32_t>(state.size())});
}

Status DecodePieceState(const FrameView& frame, std::vector<float>* state) {
  const FrameHeader& header = frame.header;
  if (header.kind != FrameKind::kPieceState || header.coding != ValueCoding::kF32) {
    return InvalidData(StrCat("expected a piece state frame with F32 values, got a ",
                              DescribeFrame(header), " with ", ValueCodingName(header.coding)));
  }
  if (frame.payload.size() != uint64_t{header.count} * sizeof(float)) {
    return InvalidData(StrCat(DescribeFrame(header), ": ", frame.payload.size(), " bytes are not ",
                              header.count, " numbers"));
  }
  state->resize(header.count);
  DecodeValues(frame.payload, ValueCoding::kF32, *state);
  return OkStatus();
}

}  // namespace weir::wire
