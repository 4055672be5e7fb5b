#include "common/wire/value_coding.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/check.h"

namespace weir::wire {
namespace {

void EncodeBf16(std::span<const float> values, uint8_t* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(RoundToBf16(values[i])) >> 16);
    std::memcpy(out + 2 * i, &half, sizeof(half));
  }
}

void DecodeBf16(const uint8_t* bytes, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof(half));
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
  }
}

// Codes come in groups that fill whole bytes.
constexpr size_t kGroup = 8;
constexpr uint32_t kOneExponent = 127;  // the exponent field of 1.0f
constexpr uint32_t kMantissaBits = 23;

uint32_t CodeOf(float unit, const ValueFormat& format) {
  const auto bits = std::bit_cast<uint32_t>(unit);
  const uint32_t sign = bits >> 31;
  if (format.bits == 1) return sign;
  const uint32_t rest = format.coding == ValueCoding::kLevels
                            ? static_cast<uint32_t>(std::lrint(std::fabs(unit))) - 1
                            : kOneExponent - (bits >> kMantissaBits & 0xff);
  DCHECK_LT(rest, 1u << (format.bits - 1)) << unit;
  return (rest << 1 | sign) & ((1u << format.bits) - 1);
}

float UnitOf(uint32_t code, ValueCoding coding) {
  const uint32_t sign = code << 31, rest = code >> 1;
  const uint32_t magnitude = coding == ValueCoding::kLevels
                                 ? std::bit_cast<uint32_t>(static_cast<float>(rest + 1))
                                 : (kOneExponent - rest) << kMantissaBits;
  return std::bit_cast<float>(sign | magnitude);
}

void EncodeCodes(std::span<const float> units, const ValueFormat& format, uint8_t* out) {
  for (size_t i = 0; i < units.size(); i += kGroup) {
    const size_t count = std::min(kGroup, units.size() - i);
    uint64_t group = 0;
    for (size_t j = 0; j < count; ++j) {
      group |= uint64_t{CodeOf(units[i + j], format)} << j * format.bits;
    }
    std::memcpy(out, &group, (count * format.bits + 7) / 8);
    out += format.bits;
  }
}

bool DecodeCodes(const uint8_t* bytes, const ValueFormat& format, std::span<float> units) {
  const uint64_t mask = (1u << format.bits) - 1;
  uint64_t padding = 0;
  for (size_t i = 0; i < units.size(); i += kGroup) {
    const size_t count = std::min(kGroup, units.size() - i);
    uint64_t group = 0;
    std::memcpy(&group, bytes, (count * format.bits + 7) / 8);
    for (size_t j = 0; j < count; ++j) {
      units[i + j] = UnitOf(static_cast<uint32_t>(group >> j * format.bits & mask), format.coding);
    }
    if (count < kGroup) padding = group >> count * format.bits;
    bytes += format.bits;
  }
  return padding == 0;
}

}  // namespace

const char* ValueCodingName(ValueCoding coding) {
  switch (coding) {
    case ValueCoding::kF32:
      return "F32";
    case ValueCoding::kBf16:
      return "BF16";
    case ValueCoding::kLevels:
      return "LEVELS";
    case ValueCoding::kPowers:
      return "POWERS";
  }
  return "unknown";
}

ValueFormat ValueFormat::OfPiece(int64_t begin, int64_t element_count) const {
  ValueFormat piece = *this;
  if (bucket_log2 == 0) return piece;
  piece.scales = scales.subspan(ScaleIndex(begin, false), ScaleCount(element_count));
  return piece;
}

size_t ValueFormat::ScaleCount(int64_t element_count) const {
  if (!IsScaled(coding)) return 0;
  const int64_t bucket = int64_t{1} << bucket_log2;
  const int64_t buckets = bucket_log2 == 0 ? 1 : (element_count + bucket - 1) / bucket;
  return static_cast<size_t>(two_sided ? 2 * buckets : buckets);
}

size_t ValueBytes(const ValueFormat& format, size_t count) {
  switch (format.coding) {
    case ValueCoding::kF32:
      return 4 * count;
    case ValueCoding::kBf16:
      return 2 * count;
    case ValueCoding::kLevels:
    case ValueCoding::kPowers:
      return (count * format.bits + 7) / 8;
  }
  return 0;
}

void AppendValues(std::span<const float> values, const ValueFormat& format, Bytes* out) {
  if (format.coding == ValueCoding::kF32) {
    ByteWriter(*out).PutRaw(values.data(), values.size_bytes());
    return;
  }
  const size_t start = out->size();
  out->resize(start + ValueBytes(format, values.size()));
  if (format.coding == ValueCoding::kBf16) {
    EncodeBf16(values, out->data() + start);
  } else {
    EncodeCodes(values, format, out->data() + start);
  }
}

bool DecodeValues(ByteSpan bytes, const ValueFormat& format, std::span<float> values) {
  CHECK_EQ(bytes.size(), ValueBytes(format, values.size()));
  if (values.empty()) return true;
  switch (format.coding) {
    case ValueCoding::kF32:
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return true;
    case ValueCoding::kBf16:
      DecodeBf16(bytes.data(), values);
      return true;
    case ValueCoding::kLevels:
    case ValueCoding::kPowers:
      return DecodeCodes(bytes.data(), format, values);
  }
  return false;
}

}  // namespace weir::wire
