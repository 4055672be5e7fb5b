// Gradient and value frames: the selected elements of one piece of a dense tensor.
//
// Place in the life of a batch: on the way up, a policy appends a block for each stripe as it takes
// it from the residual, in any order (threads take stripes as locks allow); on the way down, a
// strand appends what changed since the session was last answered. A stripe without selected
// elements has no block, and a frame may have none. Elements that no block names are zero
// (gradients) or unchanged (values).
//
// A piece is a range of a tensor that starts at a stripe; its stripes have 4096 elements, the last
// one fewer if the piece does. An element is named by its offset in its stripe, so a block is
// decoded without its neighbours.
// Thread rule: thread-compatible. The writer borrows its buffer, the reader the frame's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/frame.h"
#include "common/wire/index_coding.h"
#include "common/wire/value_coding.h"

namespace weir::wire {

// Appends one frame to a buffer that may hold others; nothing else may touch the buffer meanwhile.
// Legal order: (AppendBlock | AppendDenseBlock)* (Finish | Discard), each stripe once at most.
class PieceFrameWriter {
 public:
  // kind: kGradient or kValues. begin: first element of the piece in the tensor.
  PieceFrameWriter(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin, ValueCoding coding);
  PieceFrameWriter(const PieceFrameWriter&) = delete;  // two would close one frame
  PieceFrameWriter& operator=(const PieceFrameWriter&) = delete;

  // values[i] belongs to element indexes[i] of the stripe; indexes strictly increase and lie below
  // stripe_elements (1..4096). Takes the smallest index coding. Without indexes, appends nothing.
  void AppendBlock(uint32_t stripe, uint32_t stripe_elements, std::span<const uint16_t> indexes,
                   std::span<const float> values);
  // All elements of the stripe (1..4096).
  void AppendDenseBlock(uint32_t stripe, std::span<const float> values);

  // No block so far.
  bool empty() const { return count_ == 0; }
  // Writes the header. Returns the bytes of the frame, header included.
  size_t Finish();
  // Leaves the buffer as it was before the frame.
  void Discard();

 private:
  void AppendBlockHead(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe);

  Bytes* out_;
  size_t frame_begin_;
  FrameHeader header_;
  uint64_t count_ = 0;
  bool open_ = true;
};

// One stripe's elements, borrowed from the reader until its next call.
struct Block {
  uint32_t stripe = 0;
  bool dense = false;
  std::span<const uint16_t>
      indexes;                    // strictly increasing, below the stripe's length; not if dense
  std::span<const float> values;  // one for each index; for every element if dense
};

// Walks the blocks of a frame. Allocates only when constructed, and then by the piece's size.
class PieceFrameReader {
 public:
  // frame: from FrameCursor, of either kind. piece_elements: length of the piece at (tensor, begin)
  // as this process knows it.
  PieceFrameReader(const FrameView& frame, uint32_t piece_elements);
  PieceFrameReader(const PieceFrameReader&) = delete;  // blocks point into the reader
  PieceFrameReader& operator=(const PieceFrameReader&) = delete;

  // True with the next block, false after the last. InvalidData when anything is not as FORMAT.md
  // says: unknown coding, a stripe that the piece has not or that came before, an index out of
  // range, counts that disagree, bytes missing or left over; then again at every later call. Blocks
  // before an error were sound in themselves: to take a frame whole or not at all, validate first.
  Result<bool> Next(Block* block);

 private:
  Status ReadBlock(Block* block);
  Status ReadStripe(Block* block);
  Status ReadIndexes(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe_elements,
                     Block* block);
  Status ReadValues(size_t value_count, Block* block);
  Status CheckEnd() const;

  const FrameHeader header_;
  const uint32_t piece_elements_;
  ByteReader reader_;
  uint64_t elements_read_ = 0;
  Status failure_;
  std::vector<bool> stripe_seen_;
  std::array<uint16_t, kMaxBlockElements> indexes_;
  std::array<float, kMaxBlockElements> values_;
};

// Walks all blocks, or up to the first for which visit(const Block&) is not OK.
template <typename Visit>
Status ForEachBlock(const FrameView& frame, uint32_t piece_elements, Visit&& visit) {
  PieceFrameReader reader(frame, piece_elements);
  Block block;
  while (true) {
    WEIR_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) return OkStatus();
    WEIR_RETURN_IF_ERROR(visit(std::as_const(block)));
  }
}

}  // namespace weir::wire
