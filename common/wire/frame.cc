#include "common/wire/frame.h"

// Inlined, because only so may the hash state live on the stack.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {
namespace {

// The header as it lies in memory and on the wire; bytes.h asserts a little-endian machine.
struct RawHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t kind;
  uint8_t coding;
  uint8_t reserved;
  uint32_t tensor;
  uint32_t begin;
  uint32_t count;
  uint32_t length;
  uint64_t checksum;
};
static_assert(sizeof(RawHeader) == kFrameHeaderBytes);

// XXH3 of the header with a checksum of zero, then the payload.
uint64_t Checksum(RawHeader header, ByteSpan payload) {
  header.checksum = 0;
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &header, sizeof(header));
  XXH3_64bits_update(&state, payload.data(), payload.size());
  return XXH3_64bits_digest(&state);
}

bool IsKnownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(FrameKind::kGradient) &&
         kind <= static_cast<uint8_t>(FrameKind::kPolicyState);
}

bool IsKnownCoding(uint8_t coding) {
  return coding >= static_cast<uint8_t>(ValueCoding::kF32) &&
         coding <= static_cast<uint8_t>(ValueCoding::kPowers);
}

// The reason why header cannot begin a frame with payload_limit bytes behind it; empty if it can.
std::string HeaderFault(const RawHeader& header, size_t payload_limit) {
  if (header.magic != kFrameMagic) return "does not begin with \"WEIR\"";
  if (header.version != kFrameVersion) {
    return StrCat("has version ", int{header.version}, ", this program reads ", int{kFrameVersion},
                  "; run the same release everywhere");
  }
  if (!IsKnownKind(header.kind)) return StrCat("has unknown kind ", int{header.kind});
  if (!IsKnownCoding(header.coding)) {
    return StrCat("has unknown value coding ", int{header.coding});
  }
  if (IsScaled(static_cast<ValueCoding>(header.coding)) &&
      !MayBeScaled(static_cast<FrameKind>(header.kind))) {
    return "has scaled values, which its kind may not have";
  }
  if (header.reserved != 0) return "has a reserved byte that is not 0";
  if (header.length > payload_limit) {
    return StrCat("is cut short: payload of ", header.length, " bytes, ", payload_limit, " left");
  }
  if (header.count > uint64_t{header.length} * 8) {
    return StrCat("counts ", header.count, " in a payload of ", header.length, " bytes");
  }
  return "";
}

}  // namespace

const char* FrameKindName(FrameKind kind) {
  switch (kind) {
    case FrameKind::kGradient:
      return "gradient";
    case FrameKind::kValues:
      return "values";
    case FrameKind::kRowIds:
      return "row ids";
    case FrameKind::kRowValues:
      return "row values";
    case FrameKind::kRowGradients:
      return "row gradients";
    case FrameKind::kScores:
      return "scores";
    case FrameKind::kPieceState:
      return "piece state";
    case FrameKind::kSavedRows:
      return "saved rows";
    case FrameKind::kActivations:
      return "activations";
    case FrameKind::kActivationGradients:
      return "activation gradients";
    case FrameKind::kPolicyState:
      return "policy state";
  }
  return "unknown";
}

std::string DescribeFrame(const FrameHeader& header) {
  std::string name = StrCat(FrameKindName(header.kind), " frame");
  switch (header.kind) {
    case FrameKind::kGradient:
    case FrameKind::kValues:
    case FrameKind::kPieceState:
      return StrCat(name, " of tensor ", header.tensor, " at element ", header.begin);
    case FrameKind::kRowIds:
    case FrameKind::kRowValues:
    case FrameKind::kRowGradients:
    case FrameKind::kSavedRows:
      return StrCat(name, " of table ", header.tensor);
    case FrameKind::kActivations:
    case FrameKind::kActivationGradients:
      return StrCat(name, " of split ", header.tensor, ", slice ", header.begin);
    case FrameKind::kPolicyState:
      return StrCat(name, " of layer or table ", header.tensor, ", part ", header.begin);
    case FrameKind::kScores:
      break;
  }
  return name;
}

Result<FrameView> FrameCursor::Next() {
  const ByteSpan rest = bytes_.subspan(position_);
  const auto refuse = [&](const auto&... reason) {
    return InvalidData(StrCat("frame at byte ", position_, " ", reason...));
  };
  if (rest.size() < kFrameHeaderBytes) {
    return refuse("is cut short: ", rest.size(), " bytes left, a header has ", kFrameHeaderBytes);
  }
  RawHeader raw;
  std::memcpy(&raw, rest.data(), sizeof(raw));
  const std::string fault = HeaderFault(raw, rest.size() - kFrameHeaderBytes);
  if (!fault.empty()) return refuse(fault);
  FrameView view;
  view.header = {.kind = static_cast<FrameKind>(raw.kind),
                 .coding = static_cast<ValueCoding>(raw.coding),
                 .tensor = raw.tensor,
                 .begin = raw.begin,
                 .count = raw.count,
                 .length = raw.length};
  view.payload = rest.subspan(kFrameHeaderBytes, raw.length);
  if (Checksum(raw, view.payload) != raw.checksum) {
    return refuse("has a wrong checksum; its bytes were damaged on the way or on disk");
  }
  position_ += view.frame_bytes();
  return view;
}

size_t OpenFrame(Bytes* out) {
  const size_t frame_begin = out->size();
  out->resize(frame_begin + kFrameHeaderBytes);
  return frame_begin;
}

size_t CloseFrame(Bytes* out, size_t frame_begin, FrameHeader header) {
  CHECK_GE(out->size(), frame_begin + kFrameHeaderBytes);
  const ByteSpan payload = ByteSpan(*out).subspan(frame_begin + kFrameHeaderBytes);
  CHECK_LE(payload.size(), std::numeric_limits<uint32_t>::max());
  CHECK_LE(header.count, payload.size() * 8);
  RawHeader raw = {.magic = kFrameMagic,
                   .version = kFrameVersion,
                   .kind = static_cast<uint8_t>(header.kind),
                   .coding = static_cast<uint8_t>(header.coding),
                   .reserved = 0,
                   .tensor = header.tensor,
                   .begin = header.begin,
                   .count = header.count,
                   .length = static_cast<uint32_t>(payload.size()),
                   .checksum = 0};
  raw.checksum = Checksum(raw, payload);
  std::memcpy(out->data() + frame_begin, &raw, sizeof(raw));
  return kFrameHeaderBytes + payload.size();
}

}  // namespace weir::wire
