#include "common/wire/frame.h"

// Inlined, because the library's own is compiled with less optimization: 20 GB/s where this has 35.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <limits>

#include "common/base/check.h"
#include "common/base/strings.h"

namespace weir::wire {
namespace {

constexpr size_t kKindOffset = 2;       // of the byte with kind and value coding
constexpr size_t kChecksumOffset = 3;   // of four bytes
constexpr size_t kNumbersOffset = 7;    // of four varints
constexpr size_t kFullVarintBytes = 5;  // of any number of 32 bits
// Of a longer payload the bytes that a short header saves are less than 0.1 %.
constexpr size_t kMovedPayloadBytesMax = size_t{1} << 14;

// What lies there, sound or not.
struct RawHeader {
  uint8_t mark, version, kind, coding;
  uint32_t checksum;
  uint64_t tensor, begin, count, length;  // of a sound one not more than 32 bits
  size_t byte_count;                      // 0: it did not end
};

RawHeader ReadHeader(ByteSpan bytes) {
  ByteReader reader(bytes);
  RawHeader header = {};
  header.mark = reader.Get<uint8_t>();
  header.version = reader.Get<uint8_t>();
  const auto kind_and_coding = reader.Get<uint8_t>();
  header.kind = kind_and_coding & 15;
  header.coding = kind_and_coding >> 4;
  header.checksum = reader.Get<uint32_t>();
  header.tensor = reader.GetVarint();
  header.begin = reader.GetVarint();
  header.count = reader.GetVarint();
  header.length = reader.GetVarint();
  header.byte_count = reader.ok() ? bytes.size() - reader.remaining() : 0;
  return header;
}

// LEB128 of length_min bytes or, where the number needs more, so many. Returns its end.
uint8_t* PutVarint(uint32_t value, size_t length_min, uint8_t* to) {
  const uint8_t* const earliest_end = to + length_min;
  for (; value >= 0x80 || to + 1 < earliest_end; value >>= 7) {
    *to++ = static_cast<uint8_t>(value | 0x80);
  }
  *to++ = static_cast<uint8_t>(value);
  return to;
}

// Of a whole frame: everything but the checksum itself.
uint32_t FrameChecksum(uint8_t mark, uint8_t version, ByteSpan frame) {
  const uint8_t begin[kChecksumOffset] = {mark, version, frame[kKindOffset]};
  uint64_t seed = 0;
  std::memcpy(&seed, begin, kChecksumOffset);
  const ByteSpan rest = frame.subspan(kNumbersOffset);
  return static_cast<uint32_t>(XXH3_64bits_withSeed(rest.data(), rest.size(), seed));
}
uint32_t FrameChecksum(ByteSpan frame) { return FrameChecksum(frame[0], frame[1], frame); }

// Of a frame whose mark or version is another: it was written with ours, as its checksum tells.
bool WasOurs(const RawHeader& header, ByteSpan bytes) {
  if (header.byte_count == 0 || header.length > bytes.size() - header.byte_count) return false;
  const ByteSpan frame = bytes.first(header.byte_count + header.length);
  return FrameChecksum(kFrameMark, kFrameVersion, frame) == header.checksum;
}

static_assert(static_cast<int>(FrameKind::kAgreedValues) < 16 &&
              static_cast<int>(ValueCoding::kPowers) < 16);  // half a byte each

bool IsKnownKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(FrameKind::kGradient) &&
         kind <= static_cast<uint8_t>(FrameKind::kAgreedValues);
}

bool IsKnownCoding(uint8_t coding) {
  return coding >= static_cast<uint8_t>(ValueCoding::kF32) &&
         coding <= static_cast<uint8_t>(ValueCoding::kPowers);
}

// The reason why header cannot begin a frame at the start of the bytes; empty if it can.
std::string HeaderFault(const RawHeader& header, ByteSpan bytes) {
  if (bytes.size() < kFrameHeaderBytesMin) {
    return StrCat("is cut short: ", bytes.size(), " bytes left, a header has at least ",
                  kFrameHeaderBytesMin);
  }
  const bool is_ours = header.mark == kFrameMark && header.version == kFrameVersion;
  if (!is_ours && WasOurs(header, bytes)) {
    return "has a damaged header; its bytes were damaged on the way or on disk";
  }
  if (header.mark != kFrameMark) {
    return "does not begin with \"w\": it is none, or of another release; run the same everywhere";
  }
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
  if (header.byte_count == 0) return "is cut short: its header does not end";
  if ((header.tensor | header.begin | header.count | header.length) >> 32 != 0) {
    return "has a number of more than 32 bits in its header";
  }
  const size_t payload_limit = bytes.size() - header.byte_count;
  if (header.length > payload_limit) {
    return StrCat("is cut short: payload of ", header.length, " bytes, ", payload_limit, " left");
  }
  if (header.count > header.length * 8) {
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
    case FrameKind::kElementIds:
      return "element ids";
    case FrameKind::kAgreedGradients:
      return "agreed gradients";
    case FrameKind::kAgreedValues:
      return "agreed values";
  }
  return "unknown";
}

std::string DescribeFrame(const FrameHeader& header) {
  std::string name = StrCat(FrameKindName(header.kind), " frame");
  switch (header.kind) {
    case FrameKind::kGradient:
    case FrameKind::kValues:
    case FrameKind::kPieceState:
    case FrameKind::kElementIds:
    case FrameKind::kAgreedGradients:
    case FrameKind::kAgreedValues:
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

std::optional<FrameKind> ClaimedKind(ByteSpan bytes) {
  if (bytes.size() < kFrameHeaderBytesMin) return std::nullopt;
  return static_cast<FrameKind>(bytes[kKindOffset] & 15);
}

Result<FrameView> FrameCursor::Next() {
  const ByteSpan rest = bytes_.subspan(position_);
  const RawHeader raw = ReadHeader(rest);
  std::string fault = HeaderFault(raw, rest);
  if (fault.empty() && FrameChecksum(rest.first(raw.byte_count + raw.length)) != raw.checksum) {
    fault = "has a wrong checksum; its bytes were damaged on the way or on disk";
  }
  if (!fault.empty()) return InvalidData(StrCat("frame at byte ", position_, " ", fault));
  FrameView view;
  view.header = {.kind = static_cast<FrameKind>(raw.kind),
                 .coding = static_cast<ValueCoding>(raw.coding),
                 .tensor = static_cast<uint32_t>(raw.tensor),
                 .begin = static_cast<uint32_t>(raw.begin),
                 .count = static_cast<uint32_t>(raw.count),
                 .length = static_cast<uint32_t>(raw.length)};
  view.header_bytes = raw.byte_count;
  view.payload = rest.subspan(raw.byte_count, raw.length);
  position_ += view.frame_bytes();
  return view;
}

size_t OpenFrame(Bytes* out) {
  const size_t frame_begin = out->size();
  out->resize(frame_begin + kFrameHeaderRoom);
  return frame_begin;
}

size_t CloseFrame(Bytes* out, size_t frame_begin, FrameHeader header) {
  CHECK_GE(out->size(), frame_begin + kFrameHeaderRoom);
  const size_t payload_bytes = out->size() - frame_begin - kFrameHeaderRoom;
  CHECK_LE(payload_bytes, std::numeric_limits<uint32_t>::max());
  CHECK_LE(header.count, payload_bytes * 8);
  const size_t varint_bytes_min = payload_bytes <= kMovedPayloadBytesMax ? 1 : kFullVarintBytes;
  uint8_t* const head = out->data() + frame_begin;
  head[0] = kFrameMark;
  head[1] = kFrameVersion;
  head[kKindOffset] = static_cast<uint8_t>(static_cast<unsigned>(header.kind) |
                                           static_cast<unsigned>(header.coding) << 4);
  uint8_t* end = head + kNumbersOffset;
  for (const uint32_t number :
       {header.tensor, header.begin, header.count, static_cast<uint32_t>(payload_bytes)}) {
    end = PutVarint(number, varint_bytes_min, end);
  }
  const auto at = [&](size_t offset) { return out->begin() + static_cast<ptrdiff_t>(offset); };
  out->erase(at(static_cast<size_t>(end - out->data())), at(frame_begin + kFrameHeaderRoom));
  const uint32_t checksum = FrameChecksum(ByteSpan(*out).subspan(frame_begin));
  std::memcpy(out->data() + frame_begin + kChecksumOffset, &checksum, sizeof(checksum));
  return out->size() - frame_begin;
}

}  // namespace weir::wire
