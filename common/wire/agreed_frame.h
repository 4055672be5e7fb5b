// Gradients and values of the elements that trainers have agreed on (element_ids.h): a frame has
// one for each of a piece's, in their order, and no indexes.
//
// Place in the life of a batch: union -> take -> **agreed gradients** -> mean -> **agreed values**.
// Thread rule: a pure function; a reader is thread-compatible, kept and reused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/piece_frame.h"

namespace weir::wire {

// Into a frame of either kind that is open and empty: one for each element.
void AppendAgreedValues(std::span<const float> values, PieceFrameWriter* writer);

// Appends one frame and returns its bytes. kind: kAgreedGradients or kAgreedValues. tensor, begin:
// of the whole piece. values: at least one.
size_t AppendAgreed(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin, ValueCoding coding,
                    std::span<const float> values, PieceFrameWriter* writer);

class AgreedFrameReader {
 public:
  // offsets: of the elements agreed on, strictly increasing; borrowed until the next Read.
  // InvalidData when the frame does not name all of them, once.
  Status Read(const FrameView& frame, std::span<const uint32_t> offsets);

  // Of the last Read, by stripes of the whole piece, in order.
  std::span<const StripeUpdate> stripes() const { return stripes_; }
  std::span<const float> values() const { return values_; }
  std::span<float> values() { return values_; }  // what is changed there, stripes have too

 private:
  void SortIntoStripes(std::span<const uint32_t> offsets);

  PieceFrameReader reader_;
  std::vector<float> values_;
  std::vector<uint16_t> indexes_;
  std::vector<StripeUpdate> stripes_;
};

}  // namespace weir::wire
