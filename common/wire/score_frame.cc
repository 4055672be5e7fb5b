#include "common/wire/score_frame.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {

size_t AppendScores(Bytes* out, std::span<const float> scores, std::span<const uint8_t> labels) {
  CHECK_EQ(scores.size(), labels.size());
  CHECK_LE(scores.size(), std::numeric_limits<uint32_t>::max());
  const size_t frame_begin = OpenFrame(out);
  AppendValues(scores, ValueCoding::kF32, out);
  ByteWriter(*out).PutRaw(labels.data(), labels.size());
  return CloseFrame(out, frame_begin,
                    {.kind = FrameKind::kScores, .count = static_cast<uint32_t>(scores.size())});
}

Status DecodeScores(const FrameView& frame, std::vector<float>* scores,
                    std::vector<uint8_t>* labels) {
  const FrameHeader& header = frame.header;
  if (header.kind != FrameKind::kScores || header.coding != ValueCoding::kF32 ||
      header.tensor != 0 || header.begin != 0) {
    return InvalidData(
        StrCat("expected a scores frame with F32 values and zeros for tensor and "
               "begin, got a ",
               DescribeFrame(header), " with ", ValueCodingName(header.coding)));
  }
  const uint64_t score_bytes = uint64_t{header.count} * sizeof(float);
  if (frame.payload.size() != score_bytes + header.count) {
    return InvalidData(StrCat("scores frame: ", frame.payload.size(), " bytes are not ",
                              header.count, " scores with labels"));
  }
  const ByteSpan label_bytes = frame.payload.subspan(score_bytes);
  if (std::ranges::any_of(label_bytes, [](uint8_t label) { return label > 1; })) {
    return InvalidData("scores frame: a label is neither 0 nor 1");
  }
  scores->resize(header.count);
  DecodeValues(frame.payload.first(score_bytes), ValueCoding::kF32, *scores);
  labels->assign(label_bytes.begin(), label_bytes.end());
  return OkStatus();
}

}  // namespace weir::wire
