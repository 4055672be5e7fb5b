// A multipart message: an ordered list of owned byte buffers.
//
// Part 0 is a small protobuf header (common/proto/protocol.proto), the others hold wire frames
// (common/wire); transport knows neither. A part is immutable once it is in a message and may be
// shared by several messages, so a broadcast or a replay copies nothing. Its bytes lie in a buffer
// of ours or in whatever memory the network library received them into; they may begin at any
// address.
//
// Thread rule: a Message is a value; parts are immutable and may be read from any thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/bytes.h"

namespace weir::transport {

class Part {
 public:
  Part() = default;
  explicit Part(Bytes bytes) : Part(std::make_shared<const Bytes>(std::move(bytes))) {}
  // bytes: valid and constant while owner lives.
  Part(std::shared_ptr<const void> owner, ByteSpan bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  ByteSpan span() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Keeps the bytes alive while the network library sends them without copying.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  explicit Part(const std::shared_ptr<const Bytes>& bytes) : owner_(bytes), bytes_(*bytes) {}

  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
};

struct Message {
  std::vector<Part> parts;
};

// Bytes that the message occupies on a ZMTP 3 connection: its parts and their frame headers (2
// bytes for a part below 256 bytes, 9 above). TCP and IP headers are the kernel's and are not
// counted.
inline size_t WireBytes(size_t part_bytes) { return part_bytes + (part_bytes < 256 ? 2 : 9); }
inline size_t WireBytes(const Part& part) { return WireBytes(part.size()); }
inline size_t WireBytes(const Message& message) {
  size_t total = 0;
  for (const Part& part : message.parts) total += WireBytes(part);
  return total;
}

}  // namespace weir::transport
