// What is behind a message's header: frames end to end, in parts. A part holds whole frames of one
// sort (of layers, of rows) and takes no more of them once it has kPartBytes.
//
// Who sends and who receives, libzmq with them, allocate each part whole. The GNU allocator keeps
// what it gave for the next ones up to 32 MiB; what is larger the kernel takes back, and maps and
// clears page by page for the next message: twice the processor's time of the bytes. So no part is
// near that, however large the message.
//
// Place in the life of a batch: push, pull, answer, and what crosses the links between stages.
// Thread rule: thread-compatible. A reader borrows its message.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/transport/message.h"
#include "common/wire/frame.h"

namespace weir::session {

// The parts behind the header.
using Body = std::vector<transport::Part>;

// Large enough that what a part costs by itself is nothing. The largest frames have half a MiB, but
// for a slice of the activations of a very wide layer.
inline constexpr size_t kPartBytes = size_t{4} << 20;

class BodyWriter {
 public:
  // expected_bytes: of all frames together. Buffers need not grow where that is about right.
  explicit BodyWriter(size_t expected_bytes = 0) : expected_bytes_(expected_bytes) {}

  // What the next frame is to be appended to, until Next is called again.
  Bytes* Next();

  size_t byte_count() const {
    return full_bytes_ + (buffers_.empty() ? 0 : buffers_.back().size());
  }

  // Of what was written since the last time, without empty parts, behind what *body has.
  void MoveTo(Body* body);

 private:
  size_t expected_bytes_;
  size_t full_bytes_ = 0;  // of all buffers but the last
  std::vector<Bytes> buffers_;
};

// The frames of all parts, in order.
class BodyReader {
 public:
  // Of a message, what is behind its header.
  explicit BodyReader(const transport::Message& message);
  explicit BodyReader(std::span<const transport::Part> parts = {});

  // Nothing is left.
  bool done() const { return parts_.empty() && cursor_.done(); }

  // As FrameCursor's, whose byte counts within a part.
  Result<wire::FrameView> Next();

 private:
  void SkipEmpty();

  std::span<const transport::Part> parts_;  // after the cursor's
  wire::FrameCursor cursor_;
};

}  // namespace weir::session
