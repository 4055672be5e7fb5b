#include "common/session/header_message.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/strings.h"
#include "common/session/client_session.h"
#include "common/session/run_identity.h"
#include "common/wire/checksum.h"

namespace weir::session {
namespace {

// Field 2047, the last whose key has two bytes, of eight bytes (docs/reference/wire_format.md).
constexpr uint8_t kChecksumKey[] = {0xf9, 0x7f};
constexpr size_t kSealBytes = sizeof(kChecksumKey) + sizeof(uint64_t);

Bytes Sealed(const v1::Header& header) {
  const size_t header_bytes = header.ByteSizeLong();
  Bytes bytes;
  bytes.reserve(header_bytes + kSealBytes);
  bytes.resize(header_bytes);
  CHECK(header.SerializeToArray(bytes.data(), static_cast<int>(header_bytes)));
  const uint64_t checksum = wire::ChecksumOf(bytes);
  ByteWriter writer(bytes);
  writer.PutRaw(kChecksumKey, sizeof(kChecksumKey));
  writer.Put(checksum);
  return bytes;
}

enum class Seal { kWhole, kDamaged, kNone };

// One whose key was damaged still has our checksum.
Seal SealOf(ByteSpan bytes) {
  if (bytes.size() < kSealBytes) return Seal::kNone;
  const ByteSpan header = bytes.first(bytes.size() - kSealBytes);
  ByteReader reader(bytes.subspan(header.size()));
  const bool has_key = std::ranges::equal(reader.GetSpan(sizeof(kChecksumKey)), kChecksumKey);
  const bool has_checksum = reader.Get<uint64_t>() == wire::ChecksumOf(header);
  if (has_key && has_checksum) return Seal::kWhole;
  return has_key || has_checksum ? Seal::kDamaged : Seal::kNone;
}

std::optional<v1::Header> Parse(ByteSpan bytes) {
  v1::Header header;
  if (!header.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return header;
}

const v1::RunIdentity& IdentityOf(const v1::Header& header) {
  if (header.has_join()) return header.join().identity();
  if (header.has_hello()) return header.hello().identity();
  return header.shard_report().identity();
}

// What an earlier release says when it begins, or when it refuses us; "" of anything else.
std::string DescribeEarlierRelease(const v1::Header& header) {
  if (header.has_refusal()) {
    return StrCat("a message of a protocol version before ", kProtocolVersion,
                  ": both sides must run the same release; it says: ", header.refusal().reason());
  }
  const v1::RunIdentity& identity = IdentityOf(header);
  const uint32_t version = identity.protocol_version();
  if (version == 0 || version == kProtocolVersion || IsDamaged(identity)) return "";
  return DescribeVersions(kProtocolVersion, version);
}

Status WithoutSeal(ByteSpan bytes) {
  if (const std::optional<v1::Header> header = Parse(bytes)) {
    if (std::string what = DescribeEarlierRelease(*header); !what.empty()) {
      return FailedPrecondition(std::move(what));
    }
  }
  return InvalidData("a message without a header");
}

}  // namespace

transport::Message MakeMessage(const v1::Header& header, const Body& body) {
  transport::Message message;
  message.parts.reserve(1 + body.size());
  message.parts.emplace_back(Sealed(header));
  message.parts.insert(message.parts.end(), body.begin(), body.end());
  return message;
}

Result<v1::Header> ParseHeader(const transport::Message& message) {
  if (message.parts.empty()) return InvalidData("a message without a header");
  const ByteSpan bytes = message.parts[0].span();
  if (bytes.size() > kMaxHeaderBytes) {
    return InvalidData(StrCat("a header of ", bytes.size(), " bytes"));
  }
  const Seal seal = SealOf(bytes);
  if (seal == Seal::kNone) return WithoutSeal(bytes);
  if (seal == Seal::kDamaged) return InvalidData("a header that was damaged on the way");
  std::optional<v1::Header> header = Parse(bytes.first(bytes.size() - kSealBytes));
  if (!header) return InvalidData("a header that is none, though its checksum is right");
  return *std::move(header);
}

Body BodyOf(const transport::Message& message) {
  return {message.parts.begin() + 1, message.parts.end()};
}

Body ToBody(std::vector<Bytes> parts) {
  Body body;
  for (Bytes& part : parts) {
    if (!part.empty()) body.emplace_back(std::move(part));
  }
  return body;
}

}  // namespace weir::session
