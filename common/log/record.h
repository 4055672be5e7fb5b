// A record of a log as bytes: a prefix, a header that says what it is (common/proto/log.proto), and
// frames. Records are numbered one after the other, over all files of a log.
//
// Bytes, little-endian: magic (4), bytes of the header (4), number (8), durable (8), bytes of the
// frames (8), XXH3 of all that and of what follows (8); then header and frames. durable: the last
// record that was promised to stay when this one was written, so who reads can tell what was lost
// from what was only begun.
//
// Place in the life of a batch: push -> number -> **log** -> answer.
// Thread rule: pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/base/bytes.h"
#include "common/proto/log.pb.h"
#include "common/transport/message.h"

namespace weir::log {

inline constexpr size_t kPrefixBytes = 40;

struct Record {
  uint64_t number = 0;
  v1::LogRecord header;
  Bytes body;  // frames end to end
};

struct RecordPrefix {
  uint32_t header_bytes = 0;
  uint64_t number = 0, durable = 0;
  uint64_t body_bytes = 0;
  uint64_t checksum = 0;

  uint64_t byte_count() const { return kPrefixBytes + header_bytes + body_bytes; }
};

// Prefix and header; the body follows them.
Bytes BeginRecord(uint64_t number, uint64_t durable, const v1::LogRecord& header,
                  std::span<const transport::Part> body);

// Nothing where these are no such bytes.
std::optional<RecordPrefix> ParsePrefix(ByteSpan bytes);

// bytes: RecordPrefix::byte_count() of them. Nothing where they are not what was written.
std::optional<Record> ParseRecord(const RecordPrefix& prefix, ByteSpan bytes);

}  // namespace weir::log
