// How single values look on the wire: 32-bit floats, bfloat16 (the upper half of a float), or signs
// of one magnitude that the frame states once.
//
// Place in the life of a batch: a policy rounds what it selected with Round() BEFORE encoding and
// leaves the rounding in its residual; encoding an already rounded value then loses nothing, so
// what the server decodes is exactly what left the residual. Servers round the values they send.
//
// bfloat16 here rounds to nearest, ties to even. Deviation from the usual hardware conversion: a
// finite value never becomes infinite, it saturates at the largest finite bfloat16, because one
// infinity in a parameter is for ever and the remainder belongs in the residual.
// Thread rule: pure functions, any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/bytes.h"

namespace weir::wire {

enum class ValueCoding : uint8_t { kF32 = 1, kBf16 = 2, kSign = 3 };

// "F32", "BF16", as the config spells them, "SIGN".
const char* ValueCodingName(ValueCoding coding);

// What encoding and decoding need to know.
struct ValueFormat {
  ValueFormat(ValueCoding c) : coding(c) {}  // NOLINT(google-explicit-constructor)
  // Of signs.
  explicit ValueFormat(float m) : coding(ValueCoding::kSign), magnitude(m) {}

  ValueCoding coding;
  float magnitude = 0;  // finite and above zero where values are signs
};

// Bytes of so many values; those of signs are filled up with zero bits.
inline size_t ValueBytes(ValueCoding coding, size_t count) {
  switch (coding) {
    case ValueCoding::kF32:
      return 4 * count;
    case ValueCoding::kBf16:
      return 2 * count;
    case ValueCoding::kSign:
      return (count + 7) / 8;
  }
  return 0;
}

// The nearest bfloat16, as a float. NaN stays (a quiet) NaN, infinities stay.
inline float RoundToBf16(float value) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kLargestBf16 = 0x7f7f0000;
  constexpr uint32_t kQuietBit = 0x00400000;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000;
  const uint32_t magnitude = bits ^ sign;
  const uint32_t nearest = (magnitude + 0x7fff + ((magnitude >> 16) & 1)) & 0xffff0000;
  // Selections instead of branches, so that loops over this vectorise.
  const uint32_t finite = nearest > kLargestBf16 ? kLargestBf16 : nearest;
  const uint32_t special =
      magnitude > kInfinity ? ((magnitude | kQuietBit) & 0xffff0000) : kInfinity;
  return std::bit_cast<float>(sign | (magnitude >= kInfinity ? special : finite));
}

// The value that a receiver will see, of F32 and BF16. Round(Round(x)) == Round(x).
inline float Round(float value, ValueCoding coding) {
  return coding == ValueCoding::kBf16 ? RoundToBf16(value) : value;
}

// Appends ValueBytes(coding, values.size()) bytes to *out. Values not yet rounded are rounded;
// where values are signs, only theirs are looked at.
void AppendValues(std::span<const float> values, ValueFormat format, Bytes* out);

// Fills values from bytes, whose size must be ValueBytes(coding, values.size()). False when padding
// is not zero. Every other bit pattern is a value: NaN and infinities are the caller's to judge.
bool DecodeValues(ByteSpan bytes, ValueFormat format, std::span<float> values);

}  // namespace weir::wire
