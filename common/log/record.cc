#include "common/log/record.h"

#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/wire/checksum.h"

namespace weir::log {
namespace {

constexpr uint32_t kMagic = 0x474c5257;  // "WRLG"
constexpr size_t kChecksumAt = kPrefixBytes - sizeof(uint64_t);

struct Fields {
  uint32_t magic = 0, header_bytes = 0;
  uint64_t number = 0, durable = 0, body_bytes = 0, checksum = 0;
};
static_assert(sizeof(Fields) == kPrefixBytes);

}  // namespace

Bytes BeginRecord(uint64_t number, uint64_t durable, const v1::LogRecord& header,
                  std::span<const transport::Part> body) {
  const size_t header_bytes = header.ByteSizeLong();
  CHECK_LE(header_bytes, std::numeric_limits<uint32_t>::max());
  uint64_t body_bytes = 0;
  for (const transport::Part& part : body) body_bytes += part.size();
  Bytes bytes(kPrefixBytes + header_bytes);
  const Fields fields{kMagic, static_cast<uint32_t>(header_bytes), number, durable, body_bytes, 0};
  std::memcpy(bytes.data(), &fields, sizeof(fields));
  CHECK(header.SerializeToArray(bytes.data() + kPrefixBytes, static_cast<int>(header_bytes)));
  wire::Checksum checksum;
  checksum.Append(bytes);
  for (const transport::Part& part : body) checksum.Append(part.span());
  const uint64_t value = checksum.value();
  std::memcpy(bytes.data() + kChecksumAt, &value, sizeof(value));
  return bytes;
}

std::optional<RecordPrefix> ParsePrefix(ByteSpan bytes) {
  if (bytes.size() < kPrefixBytes) return std::nullopt;
  Fields fields;
  std::memcpy(&fields, bytes.data(), sizeof(fields));
  if (fields.magic != kMagic) return std::nullopt;
  const RecordPrefix prefix{fields.header_bytes, fields.number, fields.durable, fields.body_bytes,
                            fields.checksum};
  // protobuf takes lengths as an int.
  if (prefix.header_bytes > std::numeric_limits<int>::max()) return std::nullopt;
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  if (prefix.body_bytes > kMost - kPrefixBytes - prefix.header_bytes) return std::nullopt;
  return prefix;
}

std::optional<Record> ParseRecord(const RecordPrefix& prefix, ByteSpan bytes) {
  if (bytes.size() != prefix.byte_count()) return std::nullopt;
  wire::Checksum checksum;
  checksum.Append(bytes.first(kChecksumAt));
  const Bytes nothing(sizeof(uint64_t));
  checksum.Append(nothing);
  checksum.Append(bytes.subspan(kPrefixBytes));
  if (checksum.value() != prefix.checksum) return std::nullopt;
  Record record;
  record.number = prefix.number;
  if (!record.header.ParseFromArray(bytes.data() + kPrefixBytes,
                                    static_cast<int>(prefix.header_bytes))) {
    return std::nullopt;
  }
  const ByteSpan body = bytes.subspan(kPrefixBytes + prefix.header_bytes);
  record.body.assign(body.begin(), body.end());
  return record;
}

}  // namespace weir::log
