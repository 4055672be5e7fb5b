// Frames of a block, which is what a layer gives for a slice of a batch, [features, samples], or
// its gradient: all of it, some elements with their positions, or the values of elements whose
// positions the other end knows. The payload is a piece's (common/wire/piece_frame.h); a position
// is feature * samples + sample, so the codes of a feature that many samples have lie together.
//
// Place in the life of a batch: forward -> **frame** -> the next stage, and back.
// Thread rule: thread-compatible; meant to be kept and used again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/kernels/views.h"
#include "common/wire/frame.h"
#include "common/wire/piece_frame.h"

namespace weir::split {

// Which block: the same at both ends, and the key of what they draw at random.
struct BlockName {
  uint64_t batch = 0;  // counted by the stage that names batches
  uint32_t split = 0;
  uint32_t slice = 0;  // of the batch

  bool operator==(const BlockName&) const = default;
};

class BlockFrames {
 public:
  void AppendAll(wire::FrameKind kind, const BlockName& name, const kernels::ConstMatrixView& block,
                 const wire::ValueFormat& format, Bytes* out);
  // positions: strictly increasing, below element_count.
  void AppendSome(wire::FrameKind kind, const BlockName& name, int64_t element_count,
                  std::span<const uint32_t> positions, std::span<const float> values,
                  const wire::ValueFormat& format, Bytes* out);
  void AppendAt(wire::FrameKind kind, const BlockName& name, std::span<const uint32_t> positions,
                const kernels::ConstMatrixView& block, const wire::ValueFormat& format, Bytes* out);

  // AppendAt, of values that were taken from the block already.
  void AppendValues(wire::FrameKind kind, const BlockName& name, std::span<const float> values,
                    const wire::ValueFormat& format, Bytes* out);

  // Each reads what the function of its name wrote into the whole block, zeros where there is
  // nothing. InvalidData when the frame is another kind's or block's, or does not fit.
  Status TakeAll(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                 const kernels::MatrixView& block);
  Status TakeSome(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                  const kernels::MatrixView& block);
  Status TakeAt(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                std::span<const uint32_t> positions, const kernels::MatrixView& block);

  // TakeSome and TakeAt for who puts values() into the block by itself.
  Status ReadSome(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                  int64_t element_count);
  Status ReadAt(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
                size_t count);

  // Of the last TakeSome or ReadSome; and of any other.
  std::span<const uint32_t> positions() const { return positions_; }
  std::span<const float> values() const { return values_; }

 private:
  Status Read(const wire::FrameView& frame, wire::FrameKind kind, const BlockName& name,
              size_t element_count);

  wire::PieceFrameWriter writer_;
  wire::PieceFrameReader reader_;
  std::vector<wire::StripeUpdate> stripes_;
  std::vector<uint32_t> positions_;
  std::vector<uint16_t> offsets_;
  std::vector<float> values_;
};

// Where the elements of a block lie that has rows of `stride` floats: calls visit(number of the
// position, element's index in the buffer). positions: increasing.
template <typename Visit>
void ForEachPosition(std::span<const uint32_t> positions, int64_t samples, int64_t stride,
                     const Visit& visit) {
  int64_t feature = 0, row_end = samples;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t position = positions[i];
    while (position >= row_end) {
      ++feature;
      row_end += samples;
    }
    visit(i, feature * stride + position - (row_end - samples));
  }
}

}  // namespace weir::split
