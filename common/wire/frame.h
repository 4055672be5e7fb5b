// A frame: a short header and a payload, the unit in which parameters, gradients, rows and scores
// travel and are stored. docs/reference/wire_format.md documents every byte.
//
// Place in the life of a batch: behind a message's small protobuf header, one part holds one or
// more frames end to end. A sender appends frames to a buffer (piece_frame.h, row_frame.h,
// score_frame.h); a receiver walks them with FrameCursor, which alone looks at headers, and gives
// each view to the decoder for its kind.
//
// A view that FrameCursor returned has a known kind and coding, lies inside the buffer, has a
// correct checksum, and counts no more things than its payload has bits. The payload's inside is
// still a peer's: the decoders check it.
// Thread rule: thread-compatible. FrameCursor and FrameView borrow the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/wire/value_coding.h"

namespace weir::wire {

inline constexpr uint8_t kFrameMark = 'w';
inline constexpr uint8_t kFrameVersion = 1;
inline constexpr size_t kFrameHeaderBytesMin = 11;
inline constexpr size_t kFrameHeaderRoom = 27;  // of the longest that CloseFrame writes

enum class FrameKind : uint8_t {
  kGradient = 1,              // selected elements of a piece's gradient
  kValues = 2,                // changed elements of a piece
  kRowIds = 3,                // rows that a worker asks for
  kRowValues = 4,             // the answer, in the order of the request
  kRowGradients = 5,          // ids and gradients of rows
  kScores = 6,                // predictions and labels, for evaluation
  kPieceState = 7,            // optimizer state of a piece, in a saved model
  kSavedRows = 8,             // ids, values and optimizer state of rows, in a saved model
  kActivations = 9,           // of a block of activations, from a stage to the next one
  kActivationGradients = 10,  // of its gradient, on the way back
  kPolicyState = 11,          // part of what a worker keeps of a layer or table, in a saved model
  kElementIds = 12,           // elements of a piece that are proposed, or agreed on
  kAgreedGradients = 13,      // as 1 and 2, of a piece that has but the elements agreed on
  kAgreedValues = 14,
};

// Kinds whose payload is selected elements, in blocks (piece_frame.h).
inline bool HasElements(FrameKind kind) {
  return kind == FrameKind::kGradient || kind == FrameKind::kValues ||
         kind == FrameKind::kActivations || kind == FrameKind::kActivationGradients ||
         kind == FrameKind::kAgreedGradients || kind == FrameKind::kAgreedValues;
}
// Of them, those whose values may be codes.
inline bool MayBeScaled(FrameKind kind) {
  return kind == FrameKind::kGradient || kind == FrameKind::kActivations ||
         kind == FrameKind::kActivationGradients;
}

// "gradient", "values", "row ids", ... for messages and metrics.
const char* FrameKindName(FrameKind kind);

struct FrameHeader {
  FrameKind kind = FrameKind::kGradient;
  ValueCoding coding = ValueCoding::kF32;  // kF32 also for kinds that leave no choice
  uint32_t tensor = 0;  // tensor id; table id of row frames; split of activations; 0 for scores;
                        // policy state: which of the file's layers and tables
  uint32_t begin = 0;   // piece: its first element in the tensor; rows: their dimension;
                        // activations: the slice of the batch; policy state: the part; else 0
  uint32_t count = 0;   // elements, rows or scores carried; bytes of a policy's state
  uint32_t length = 0;  // payload bytes
};

struct FrameView {
  FrameHeader header;
  size_t header_bytes = 0;  // on the wire
  ByteSpan payload;         // header.length bytes

  // What the frame occupies on the wire.
  size_t frame_bytes() const { return header_bytes + payload.size(); }
};

// "gradient frame of tensor 3 at element 8192", for messages.
std::string DescribeFrame(const FrameHeader& header);

// The kind that the first frame here says it is, of whatever bytes and perhaps unknown; none where
// they are too few.
std::optional<FrameKind> ClaimedKind(ByteSpan bytes);

// Reads frames that lie end to end: while (!cursor.done()) { cursor.Next() ... }.
class FrameCursor {
 public:
  explicit FrameCursor(ByteSpan bytes) : bytes_(bytes) {}

  bool done() const { return position_ == bytes_.size(); }

  // The next frame. InvalidData, with the byte at which the frame begins, when what is there is not
  // a whole and undamaged frame of this version; the cursor then stays where it is.
  Result<FrameView> Next();

 private:
  ByteSpan bytes_;
  size_t position_ = 0;
};

// For the encoders of this folder. OpenFrame leaves room for a header at the end of *out and
// returns where the frame begins; the payload is then appended, and nothing else; CloseFrame writes
// the header (filling length and checksum itself), moves a small payload up to it, so that offsets
// into it are void, and returns the bytes of the whole frame.
size_t OpenFrame(Bytes* out);
size_t CloseFrame(Bytes* out, size_t frame_begin, FrameHeader header);

}  // namespace weir::wire
