#include "common/wire/agreed_frame.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {

void AppendAgreedValues(std::span<const float> values, PieceFrameWriter* writer) {
  for (uint32_t stripe = 0; !values.empty(); ++stripe) {
    const size_t count = std::min<size_t>(values.size(), kMaxStripeElements);
    writer->AppendDense(stripe, values.first(count));
    values = values.subspan(count);
  }
}

size_t AppendAgreed(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin, ValueCoding coding,
                    std::span<const float> values, PieceFrameWriter* writer) {
  CHECK(!values.empty());
  writer->Open(out, kind, tensor, begin, coding);
  AppendAgreedValues(values, writer);
  return writer->Finish();
}

Status AgreedFrameReader::Read(const FrameView& frame, std::span<const uint32_t> offsets) {
  stripes_.clear();
  values_.clear();
  if (frame.header.count != offsets.size()) {
    return InvalidData(StrCat(DescribeFrame(frame.header), ": ", frame.header.count,
                              " elements, and ", offsets.size(), " were agreed on"));
  }
  WEIR_RETURN_IF_ERROR(reader_.Read(frame, static_cast<uint32_t>(offsets.size())));
  values_.resize(offsets.size());
  for (const StripeUpdate& update : reader_.stripes()) {
    float* const to = values_.data() + size_t{update.stripe} * kMaxStripeElements;
    for (size_t i = 0; i < update.values.size(); ++i) {
      to[update.dense ? i : update.indexes[i]] = update.values[i];
    }
  }
  SortIntoStripes(offsets);
  return OkStatus();
}

void AgreedFrameReader::SortIntoStripes(std::span<const uint32_t> offsets) {
  indexes_.resize(offsets.size());
  for (size_t begin = 0, end = 0; begin < offsets.size(); begin = end) {
    const uint32_t stripe = offsets[begin] / kMaxStripeElements;
    for (; end < offsets.size() && offsets[end] / kMaxStripeElements == stripe; ++end) {
      indexes_[end] = static_cast<uint16_t>(offsets[end] % kMaxStripeElements);
    }
    stripes_.push_back({.stripe = stripe,
                        .dense = false,
                        .indexes = std::span(indexes_).subspan(begin, end - begin),
                        .values = std::span(values_).subspan(begin, end - begin)});
  }
}

}  // namespace weir::wire
