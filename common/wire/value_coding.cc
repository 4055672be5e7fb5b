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

}  // namespace

const char* ValueCodingName(ValueCoding coding) {
  switch (coding) {
    case ValueCoding::kF32:
      return "F32";
    case ValueCoding::kBf16:
      return "BF16";
  }
  return "unknown";
}

void AppendValues(std::span<const float> values, ValueCoding coding, Bytes* out) {
  if (coding == ValueCoding::kF32) {
    ByteWriter(*out).PutRaw(values.data(), values.size_bytes());
    return;
  }
  const size_t start = out->size();
  out->resize(start + values.size() * ValueBytes(coding));
  EncodeBf16(values, out->data() + start);
}

void DecodeValues(ByteSpan bytes, ValueCoding coding, std::span<float> values) {
  CHECK_EQ(bytes.size(), values.size() * ValueBytes(coding));
  if (values.empty()) return;
  if (coding == ValueCoding::kF32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    DecodeBf16(bytes.data(), values);
  }
}

}  // namespace weir::wire
