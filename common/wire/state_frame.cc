#include "common/wire/state_frame.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {
namespace {

// Of one frame, so that a large state is no problem to anybody's lengths.
constexpr size_t kPolicyStateBytes = size_t{1} << 24;

}  // namespace

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

void AppendPolicyState(Bytes* out, uint32_t number, ByteSpan state) {
  for (uint32_t part = 0; part == 0 || !state.empty(); ++part) {
    const ByteSpan payload = state.first(std::min(state.size(), kPolicyStateBytes));
    const size_t frame_begin = OpenFrame(out);
    out->insert(out->end(), payload.begin(), payload.end());
    CloseFrame(out, frame_begin,
               {.kind = FrameKind::kPolicyState,
                .tensor = number,
                .begin = part,
                .count = static_cast<uint32_t>(payload.size())});
    state = state.subspan(payload.size());
  }
}

Status DecodePolicyState(const FrameView& frame, uint32_t next_part, Bytes* state) {
  const FrameHeader& header = frame.header;
  if (header.kind != FrameKind::kPolicyState || header.coding != ValueCoding::kF32) {
    return InvalidData(StrCat("expected a policy state frame, got a ", DescribeFrame(header)));
  }
  if (header.begin != next_part || header.count != frame.payload.size()) {
    return InvalidData(StrCat(DescribeFrame(header), ": expected part ", next_part, ", of ",
                              frame.payload.size(), " bytes"));
  }
  state->insert(state->end(), frame.payload.begin(), frame.payload.end());
  return OkStatus();
}

}  // namespace weir::wire
