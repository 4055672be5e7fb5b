#include "common/wire/element_ids.h"

#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/wire/id_list.h"

namespace weir::wire {
namespace {

// Id lists are of 64 bits.
std::vector<uint64_t>& WideIds() {
  thread_local std::vector<uint64_t> ids;
  return ids;
}

}  // namespace

size_t AppendElementIds(Bytes* out, uint32_t tensor, uint32_t begin,
                        std::span<const uint32_t> offsets) {
  CHECK_LE(offsets.size(), std::numeric_limits<uint32_t>::max());
  std::vector<uint64_t>& ids = WideIds();
  ids.assign(offsets.begin(), offsets.end());
  const size_t frame_begin = OpenFrame(out);
  AppendIdList(ids, out);
  return CloseFrame(out, frame_begin,
                    {.kind = FrameKind::kElementIds,
                     .coding = ValueCoding::kF32,
                     .tensor = tensor,
                     .begin = begin,
                     .count = static_cast<uint32_t>(offsets.size())});
}

Status DecodeElementIds(const FrameView& frame, uint32_t piece_elements,
                        std::vector<uint32_t>* offsets) {
  const auto refuse = [&](const auto&... why) {
    return InvalidData(StrCat(DescribeFrame(frame.header), ": ", why...));
  };
  if (frame.header.kind != FrameKind::kElementIds) return refuse("expected element ids");
  if (frame.header.coding != ValueCoding::kF32) {
    return refuse("a frame without values has value coding F32");
  }
  std::vector<uint64_t>& ids = WideIds();
  const auto used = DecodeIdList(frame.payload, frame.header.count, piece_elements, &ids);
  if (!used.ok()) return refuse(used.status().message());
  if (*used != frame.payload.size()) {
    return refuse(frame.payload.size() - *used, " bytes after the last id");
  }
  offsets->assign(ids.begin(), ids.end());
  return OkStatus();
}

}  // namespace weir::wire
