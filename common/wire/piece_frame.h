// Frames of selected elements: of a piece of a dense tensor, gradients or values, and of a block of
// activations or its gradient, which is a piece of its own.
//
// Place in the life of a batch: on the way up, the worker appends each stripe as its policy takes
// it from the residual, in any order (threads take stripes as locks allow); on the way down, a
// strand appends what changed since the session was last answered. Elements that a frame does not
// name are zero (gradients) or unchanged (values); a frame may name none.
//
// A piece is a range of a tensor that starts at a stripe; its stripes have 4096 elements, the last
// one fewer if the piece does. An element is named by its offset in its stripe. How stripes become
// blocks (docs/reference/wire_format.md) only the writer and the reader know.
// Thread rule: thread-compatible. Both are meant to be kept and reused: once they have seen their
// largest frame they allocate nothing. They borrow buffer and frame.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/frame.h"
#include "common/wire/index_coding.h"
#include "common/wire/rice_run.h"
#include "common/wire/value_coding.h"

namespace weir::wire {

// Appends frames to a buffer that may hold others; nothing else may touch the buffer between Open
// and the frame's end.
// Legal order: (Open (Append | AppendDense)* (Finish | Discard))*, each stripe once at most a
// frame.
class PieceFrameWriter {
 public:
  PieceFrameWriter() = default;
  PieceFrameWriter(const PieceFrameWriter&) = delete;  // two would close one frame
  PieceFrameWriter& operator=(const PieceFrameWriter&) = delete;

  // kind: one that HasElements; scaled only if it MayBeScaled. begin: first element of the piece in
  // the tensor. format: the piece's; its scales must outlive the frame.
  void Open(Bytes* out, FrameKind kind, uint32_t tensor, uint32_t begin, const ValueFormat& format);

  // values[i] belongs to element indexes[i] of the stripe; indexes strictly increase and lie below
  // stripe_elements (1..4096). Takes the smaller of the index codings; stripes in ascending order
  // share blocks where that is smaller, by a guess from their density. Values not yet rounded are
  // rounded; scaled ones must be units (AppendValues) times the format's scales. Without indexes,
  // appends nothing.
  void Append(uint32_t stripe, uint32_t stripe_elements, std::span<const uint16_t> indexes,
              std::span<const float> values);
  // All elements of the stripe (1..4096).
  void AppendDense(uint32_t stripe, std::span<const float> values);

  // Nothing was appended so far.
  bool empty() const { return count_ == 0; }
  // Writes what is held back, and the header. Returns the bytes of the frame, header included.
  size_t Finish();
  // Leaves the buffer as it was before the frame.
  void Discard();

 private:
  void PutScales();
  std::span<const float> InUnits(uint32_t stripe, std::span<const uint16_t> indexes,
                                 std::span<const float> values);
  bool TakesBitmap(uint32_t stripe_elements, std::span<const uint16_t> indexes);
  void KeepRunValues(std::span<const float> values);
  void FinishRun();
  void PutHead(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe);

  Bytes* out_ = nullptr;  // null outside of a frame
  size_t frame_begin_ = 0;
  FrameHeader header_;
  ValueFormat format_ = ValueCoding::kF32;
  uint64_t count_ = 0;
  // The block of Rice codes that stripes may still join; blocks of other codings are written past
  // it.
  RiceRun run_;
  std::vector<float> run_values_;  // grows only; one for each gap of the run
  RiceRun alone_;                  // a stripe, to know how long its codes are
  std::vector<float> units_;       // of a stripe
};

// One stripe's elements, borrowed from the reader until its next Read.
struct StripeUpdate {
  uint32_t stripe = 0;
  bool dense = false;
  std::span<const uint16_t>
      indexes;                    // strictly increasing, below the stripe's length; not if dense
  std::span<const float> values;  // one for each index; for every element if dense
};

class PieceFrameReader {
 public:
  PieceFrameReader() = default;
  PieceFrameReader(const PieceFrameReader&) = delete;  // updates point into the reader
  PieceFrameReader& operator=(const PieceFrameReader&) = delete;

  // Decodes the whole frame, of either kind, or nothing. piece_elements: length of the piece at
  // (tensor, begin) as this process knows it, which bounds the memory taken. InvalidData when
  // anything is not as docs/reference/wire_format.md says: unknown coding, a stripe that the piece
  // has not or that comes in two blocks, an index out of range, counts that disagree, bytes missing
  // or left over. Whether the values are finite is not looked at.
  Status Read(const FrameView& frame, uint32_t piece_elements);

  // What the last Read gave, each stripe once, in the order of the frame; nothing if it failed.
  std::span<const StripeUpdate> stripes() const { return stripes_; }
  // All their values end to end. What is changed there, stripes have too.
  std::span<const float> values() const { return {values_.data(), element_count_}; }
  std::span<float> values() { return {values_.data(), element_count_}; }

 private:
  Status ReadScales();
  Status ReadBlocks();
  Status ReadBlock();
  Status ReadElements(IndexCoding coding, uint32_t rice_parameter, uint32_t stripe);
  Status ReadDense(uint32_t stripe);
  Status ReadBitmap(uint32_t stripe, size_t count);
  Status ReadRice(uint32_t stripe, uint32_t parameter, size_t count);
  Status ReadValues(size_t count);
  Status AddStripe(uint32_t stripe, bool dense, size_t first, size_t count);
  void ApplyScales(const StripeUpdate& update, std::span<float> values) const;
  uint32_t StripeElements(uint32_t stripe) const;

  FrameHeader header_;
  ValueFormat format_ = ValueCoding::kF32;
  uint32_t piece_elements_ = 0;
  ByteReader bytes_{ByteSpan()};
  std::vector<StripeUpdate> stripes_;
  std::vector<bool> stripe_seen_;
  size_t element_count_ = 0;
  // Grow only. Element i of the frame has values_[i], and indexes_[i] unless its block is dense.
  std::vector<uint16_t> indexes_;
  std::vector<float> values_;
  std::vector<float> scales_;  // format_ borrows it
};

}  // namespace weir::wire
