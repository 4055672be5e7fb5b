// How single values look on the wire: 32-bit floats, or bfloat16 (the upper half of a float).
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

enum class ValueCoding : uint8_t { kF32 = 1, kBf16 = 2 };

// "F32", "BF16", as the config spells them.
const char* ValueCodingName(ValueCoding coding);

// Bytes of one value.
inline size_t ValueBytes(ValueCoding coding) { return coding == ValueCoding::kBf16 ? 2 : 4; }

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

// The value that a receiver will see. Round(Round(x)) == Round(x).
inline float Round(float value, ValueCoding coding) {
  return coding == ValueCoding::kBf16 ? RoundToBf16(value) : value;
}

// Appends values.size() * ValueBytes(coding) bytes to *out. Values not yet rounded are rounded.
void AppendValues(std::span<const float> values, ValueCoding coding, Bytes* out);

// Fills values from bytes, whose size must be values.size() * ValueBytes(coding). Every bit pattern
// is a value: NaN and infinities are the caller's to judge.
void DecodeValues(ByteSpan bytes, ValueCoding coding, std::span<float> values);

}  // namespace weir::wire
