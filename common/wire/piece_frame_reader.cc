#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "common/base/strings.h"
#include "common/wire/bit_stream.h"
#include "common/wire/bitmap.h"
#include "common/wire/piece_frame.h"
#include "common/wire/rice_groups.h"

namespace weir::wire {
namespace {

template <typename T>
void Grow(std::vector<T>& vector, size_t size) {
  if (vector.size() < size) vector.resize(size);
}

// Why a frame with this header cannot be read into a piece of that length; empty if it may.
std::string HeaderFault(const FrameHeader& header, size_t payload_bytes, uint32_t piece_elements) {
  if (header.count > piece_elements) {
    return StrCat("counts ", header.count, " elements, the piece has ", piece_elements);
  }
  if (!IsScaled(header.coding) && ValueBytes(header.coding, header.count) > payload_bytes) {
    return StrCat("counts ", header.count, " elements in ", payload_bytes, " bytes");
  }
  return "";
}

// How far into a piece the codes of a block have come.
struct Place {
  Place(uint32_t piece_elements, uint32_t first_stripe)
      : stripe(first_stripe),
        behind(uint64_t{piece_elements} - uint64_t{first_stripe} * kMaxStripeElements) {
    EnterStripe();
  }

  // Goes on to the stripe of the element that is `gap` elements further, which is not this one, and
  // makes gap what is left to go there. False if the piece ends before.
  bool LeaveStripe(uint64_t* gap) {
    *gap -= left;
    if (*gap >= behind) return false;
    const uint64_t skipped = *gap / kMaxStripeElements;
    *gap %= kMaxStripeElements;
    behind -= skipped * kMaxStripeElements;
    stripe += 1 + static_cast<uint32_t>(skipped);
    EnterStripe();
    return true;
  }

  // The offset of the element that is gap < left elements further.
  uint16_t Take(uint64_t gap) {
    left -= static_cast<uint32_t>(gap) + 1;
    return static_cast<uint16_t>(stripe_elements - left - 1);
  }

  uint32_t stripe;
  uint32_t stripe_elements = 0;
  uint32_t left = 0;  // of the stripe's elements
  uint64_t behind;    // elements of the piece behind the stripe

 private:
  void EnterStripe() {
    stripe_elements = static_cast<uint32_t>(std::min<uint64_t>(behind, kMaxStripeElements));
    left = stripe_elements;
    behind -= stripe_elements;
  }
};

}  // namespace

Status PieceFrameReader::Read(const FrameView& frame, uint32_t piece_elements) {
  header_ = frame.header;
  piece_elements_ = piece_elements;
  bytes_ = ByteReader(frame.payload);
  element_count_ = 0;
  stripes_.clear();
  if (!HasElements(header_.kind)) {
    return InvalidData(StrCat("expected a frame of elements, got a ", DescribeFrame(header_)));
  }
  if (const std::string fault = HeaderFault(header_, frame.payload.size(), piece_elements);
      !fault.empty()) {
    return InvalidData(StrCat(DescribeFrame(header_), ": ", fault));
  }
  Grow(indexes_, header_.count);
  Grow(values_, header_.count);
  stripe_seen_.assign((size_t{piece_elements} + kMaxStripeElements - 1) / kMaxStripeElements,
                      false);
  Status status = ReadScales();
  if (status.ok()) status = ReadBlocks();
  if (status.ok()) return status;
  element_count_ = 0;
  stripes_.clear();
  return InvalidData(StrCat(DescribeFrame(header_), ": ", status.message()));
}

Status PieceFrameReader::ReadScales() {
  format_ = header_.coding;
  if (!IsScaled(header_.coding)) return OkStatus();
  const auto shape = bytes_.Get<uint8_t>();
  format_.bits = shape & ~kTwoSided;
  format_.two_sided = (shape & kTwoSided) != 0;
  format_.bucket_log2 = bytes_.Get<uint8_t>();
  if (!bytes_.ok()) return InvalidData("its scales are cut short");
  if (format_.bits < 1 || format_.bits > MaxCodeBits(header_.coding)) {
    return InvalidData(StrCat("codes of ", format_.bits, " bits"));
  }
  if (format_.bucket_log2 != 0 &&
      (format_.bucket_log2 < kMinBucketLog2 || format_.bucket_log2 > kMaxBucketLog2)) {
    return InvalidData(StrCat("buckets of 2^", format_.bucket_log2, " elements"));
  }
  const size_t count = format_.ScaleCount(piece_elements_);
  const ByteSpan bytes = bytes_.GetSpan(count * sizeof(float));
  if (!bytes_.ok()) return InvalidData("its scales are cut short");
  Grow(scales_, count);
  std::memcpy(scales_.data(), bytes.data(), bytes.size());
  format_.scales = std::span(scales_).first(count);
  const bool sound = std::ranges::all_of(
      format_.scales, [](float scale) { return scale >= 0 && std::isfinite(scale); });
  return sound ? OkStatus() : InvalidData("a scale is negative or no number");
}

Status PieceFrameReader::ReadBlocks() {
  while (bytes_.remaining() > 0) WEIR_RETURN_IF_ERROR(ReadBlock());
  if (element_count_ == header_.count) return OkStatus();
  return InvalidData(
      StrCat("the blocks hold ", element_count_, " elements, the header says ", header_.count));
}

Status PieceFrameReader::ReadBlock() {
  const auto tag = bytes_.Get<uint8_t>();
  const uint64_t stripe = bytes_.GetVarint();
  if (!bytes_.ok()) return InvalidData("a block is cut short");
  if (stripe >= stripe_seen_.size()) {
    return InvalidData(
        StrCat("stripe ", stripe, " in a piece of ", stripe_seen_.size(), " stripes"));
  }
  const uint32_t coding = tag & 3, rice_parameter = tag >> 2;
  const bool rice = coding == static_cast<uint32_t>(IndexCoding::kRice);
  if (coding > static_cast<uint32_t>(IndexCoding::kRice) ||
      rice_parameter > (rice ? kMaxIndexRiceParameter : 0)) {
    return InvalidData(StrCat("stripe ", stripe, " has unknown tag ", int{tag}));
  }
  Status status =
      ReadElements(static_cast<IndexCoding>(coding), rice_parameter, static_cast<uint32_t>(stripe));
  if (status.ok()) return status;
  return InvalidData(StrCat("the block at stripe ", stripe, ": ", status.message()));
}

Status PieceFrameReader::ReadElements(IndexCoding coding, uint32_t rice_parameter,
                                      uint32_t stripe) {
  if (coding == IndexCoding::kDense) return ReadDense(stripe);
  const uint64_t count = bytes_.GetVarint();
  if (!bytes_.ok()) return InvalidData("its head is cut short");
  if (count == 0) return InvalidData("no element is selected");
  if (coding == IndexCoding::kRice) return ReadRice(stripe, rice_parameter, count);
  return ReadBitmap(stripe, count);
}

Status PieceFrameReader::ReadDense(uint32_t stripe) {
  const size_t first = element_count_, count = StripeElements(stripe);
  WEIR_RETURN_IF_ERROR(ReadValues(count));
  return AddStripe(stripe, true, first, count);
}

Status PieceFrameReader::ReadBitmap(uint32_t stripe, size_t count) {
  const size_t first = element_count_;
  const uint32_t elements = StripeElements(stripe);
  WEIR_RETURN_IF_ERROR(ReadValues(count));
  const ByteSpan bitmap = bytes_.GetSpan(BitmapBytes(elements));
  if (!bytes_.ok()) return InvalidData("the bitmap is cut short");
  WEIR_RETURN_IF_ERROR(DecodeBitmap(bitmap, elements, std::span(indexes_).subspan(first, count)));
  return AddStripe(stripe, false, first, count);
}

Status PieceFrameReader::ReadRice(uint32_t stripe, uint32_t parameter, size_t count) {
  size_t first = element_count_;  // of the current stripe
  WEIR_RETURN_IF_ERROR(ReadValues(count));
  ByteReader ahead = bytes_;  // the codes do not state how long they are
  BitReader codes(ahead.GetSpan(ahead.remaining()));
  uint16_t* const indexes = indexes_.data();
  Place place(piece_elements_, stripe);
  for (size_t i = first, end = first + count; i < end;) {
    for (const size_t group_end = std::min(i + kRiceGroup, end); i < group_end; ++i) {
      uint64_t gap = codes.ReadRice(parameter);
      if (gap >= place.left) {
        if (i > first) WEIR_RETURN_IF_ERROR(AddStripe(place.stripe, false, first, i - first));
        if (!place.LeaveStripe(&gap)) return InvalidData("an index is beyond the piece");
        first = i;
      }
      indexes[i] = place.Take(gap);
    }
    if (i == end) break;
    const std::optional<uint32_t> next = ChangeRiceParameter(parameter, codes.ReadRice(0));
    if (!next) return InvalidData("a Rice parameter is out of range");
    parameter = *next;
  }
  if (!codes.ok()) return InvalidData("the Rice codes are cut short");
  if (!codes.padding_is_zero()) return InvalidData("padding after the Rice codes is not zero");
  bytes_.GetSpan(codes.bytes_consumed());
  return AddStripe(place.stripe, false, first, element_count_ - first);
}

Status PieceFrameReader::ReadValues(size_t count) {
  if (count > header_.count - element_count_) {
    return InvalidData(
        StrCat(count, " elements, the header leaves ", header_.count - element_count_));
  }
  const ByteSpan bytes = bytes_.GetSpan(ValueBytes(format_, count));
  if (!bytes_.ok()) return InvalidData("the values are cut short");
  if (!DecodeValues(bytes, format_, std::span(values_).subspan(element_count_, count))) {
    return InvalidData("padding after the values is not zero");
  }
  element_count_ += count;
  return OkStatus();
}

// count elements of the stripe, the first of them element `first` of the frame.
Status PieceFrameReader::AddStripe(uint32_t stripe, bool dense, size_t first, size_t count) {
  if (stripe_seen_[stripe]) return InvalidData(StrCat("stripe ", stripe, " comes twice"));
  stripe_seen_[stripe] = true;
  StripeUpdate& update = stripes_.emplace_back();
  update.stripe = stripe;
  update.dense = dense;
  if (!dense) update.indexes = std::span(indexes_).subspan(first, count);
  const std::span<float> values = std::span(values_).subspan(first, count);
  update.values = values;
  if (IsScaled(header_.coding)) ApplyScales(update, values);
  return OkStatus();
}

// values: update's, still in units.
void PieceFrameReader::ApplyScales(const StripeUpdate& update, std::span<float> values) const {
  const int64_t first = int64_t{update.stripe} * kMaxStripeElements;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t element = first + (update.dense ? static_cast<int64_t>(i) : update.indexes[i]);
    values[i] *= format_.scales[format_.ScaleIndex(element, std::signbit(values[i]))];
  }
}

uint32_t PieceFrameReader::StripeElements(uint32_t stripe) const {
  return std::min(kMaxStripeElements, piece_elements_ - stripe * kMaxStripeElements);
}

}  // namespace weir::wire
