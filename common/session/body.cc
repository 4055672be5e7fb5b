#include "common/session/body.h"

#include <algorithm>
#include <utility>

namespace weir::session {

Bytes* BodyWriter::Next() {
  if (!buffers_.empty() && buffers_.back().size() < kPartBytes) return &buffers_.back();
  full_bytes_ = byte_count();
  Bytes& next = buffers_.emplace_back();
  // And for what the last frame has beyond.
  const size_t left = std::max(expected_bytes_, full_bytes_) - full_bytes_;
  next.reserve(std::min(left, kPartBytes + kPartBytes / 8));
  return &next;
}

void BodyWriter::MoveTo(Body* body) {
  for (Bytes& buffer : buffers_) {
    if (!buffer.empty()) body->emplace_back(std::move(buffer));
  }
  buffers_.clear();
  full_bytes_ = 0;
}

BodyReader::BodyReader(const transport::Message& message)
    : BodyReader(std::span(message.parts).subspan(std::min<size_t>(1, message.parts.size()))) {}

BodyReader::BodyReader(std::span<const transport::Part> parts)
    : parts_(parts), cursor_(ByteSpan()) {
  SkipEmpty();
}

void BodyReader::SkipEmpty() {
  while (cursor_.done() && !parts_.empty()) {
    cursor_ = wire::FrameCursor(parts_.front().span());
    parts_ = parts_.subspan(1);
  }
}

Result<wire::FrameView> BodyReader::Next() {
  Result<wire::FrameView> frame = cursor_.Next();
  if (frame.ok()) SkipEmpty();
  return frame;
}

}  // namespace weir::session
