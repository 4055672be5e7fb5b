#include "common/wire/value_coding.h"

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

// Bit i of the section: the sign of value i.
void EncodeSigns(std::span<const float> values, uint8_t* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t sign = std::bit_cast<uint32_t>(values[i]) >> 31;
    out[i / 8] = static_cast<uint8_t>(out[i / 8] | sign << i % 8);
  }
}

bool DecodeSigns(ByteSpan bytes, float magnitude, std::span<float> values) {
  const auto bits = std::bit_cast<uint32_t>(magnitude);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t sign = bytes[i / 8] >> i % 8 & 1u;
    values[i] = std::bit_cast<float>(bits | sign << 31);
  }
  return values.size() % 8 == 0 || bytes.back() >> values.size() % 8 == 0;
}

}  // namespace

const char* ValueCodingName(ValueCoding coding) {
  switch (coding) {
    case ValueCoding::kF32:
      return "F32";
    case ValueCoding::kBf16:
      return "BF16";
    case ValueCoding::kSign:
      return "SIGN";
  }
  return "unknown";
}

void AppendValues(std::span<const float> values, ValueFormat format, Bytes* out) {
  if (format.coding == ValueCoding::kF32) {
    ByteWriter(*out).PutRaw(values.data(), values.size_bytes());
    return;
  }
  const size_t start = out->size();
  out->resize(start + ValueBytes(format.coding, values.size()));
  if (format.coding == ValueCoding::kBf16) {
    EncodeBf16(values, out->data() + start);
  } else {
    EncodeSigns(values, out->data() + start);
  }
}

bool DecodeValues(ByteSpan bytes, ValueFormat format, std::span<float> values) {
  CHECK_EQ(bytes.size(), ValueBytes(format.coding, values.size()));
  if (values.empty()) return true;
  switch (format.coding) {
    case ValueCoding::kF32:
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return true;
    case ValueCoding::kBf16:
      DecodeBf16(bytes.data(), values);
      return true;
    case ValueCoding::kSign:
      return DecodeSigns(bytes, format.magnitude, values);
  }
  return false;
}

}  // namespace weir::wire
