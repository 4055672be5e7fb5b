// How values look on the wire: 32-bit floats, bfloat16 (the upper half of a float), or codes of a
// few bits, a sign and a whole number, that multiply a scale which the frame states once for many.
//
// Place in the life of a batch: a policy rounds what it selected BEFORE encoding, and if it keeps a
// residual leaves the rounding there; encoding an already rounded value then loses nothing, so what
// the server decodes is exactly what left the residual. Servers round the values they send.
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

enum class ValueCoding : uint8_t { kF32 = 1, kBf16 = 2, kLevels = 3, kPowers = 4 };

// "F32", "BF16", as the config spells them, "LEVELS", "POWERS".
const char* ValueCodingName(ValueCoding coding);

// Whether values are codes, which scales multiply.
inline bool IsScaled(ValueCoding coding) {
  return coding == ValueCoding::kLevels || coding == ValueCoding::kPowers;
}

// Of a code; the largest distance of POWERS stays a normal float.
inline uint32_t MaxCodeBits(ValueCoding coding) { return coding == ValueCoding::kLevels ? 8 : 7; }
// In the byte that tells the bits of a code.
inline constexpr uint8_t kTwoSided = 16;

inline constexpr uint32_t kMinBucketLog2 = 4, kMaxBucketLog2 = 12;

// What encoding and decoding need to know.
struct ValueFormat {
  ValueFormat(ValueCoding c) : coding(c) {}  // NOLINT(google-explicit-constructor)
  // One scale for all, which is borrowed.
  ValueFormat(ValueCoding c, uint32_t code_bits, const float* scale)
      : coding(c), bits(code_bits), scales(scale, 1) {}

  // That of the elements from begin, which a bucket begins with, of a tensor of this format.
  ValueFormat OfPiece(int64_t begin, int64_t element_count) const;
  // How many scales a piece of so many elements has.
  size_t ScaleCount(int64_t element_count) const;
  // Which of them is that of an element of the piece.
  size_t ScaleIndex(int64_t element, bool minus) const {
    const size_t bucket = bucket_log2 == 0 ? 0 : static_cast<size_t>(element) >> bucket_log2;
    return two_sided ? 2 * bucket + (minus ? 1 : 0) : bucket;
  }

  ValueCoding coding;
  // The rest is of scaled codings.
  uint32_t bits = 0;              // of a code, 1 to MaxCodeBits; the lowest is the sign
  uint32_t bucket_log2 = 0;       // of the elements that share a scale; 0: all of the piece
  bool two_sided = false;         // a bucket has a scale for plus, and one for minus
  std::span<const float> scales;  // bucket after bucket; finite, not negative; borrowed
};

// Bytes of so many values; codes are filled up to whole bytes with zero bits.
size_t ValueBytes(const ValueFormat& format, size_t count);

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

// Appends ValueBytes(format, values.size()) bytes to *out. F32 and BF16: values not yet rounded are
// rounded. Scaled codings: the values in units of their scales; of one bit, only signs are looked
// at. A unit is plus or minus 1 to 2^(bits-1) for LEVELS, and 2^-d with d from 0, below 2^(bits-1),
// for POWERS.
void AppendValues(std::span<const float> values, const ValueFormat& format, Bytes* out);

// Fills values from bytes, whose size must be ValueBytes(format, values.size()); those of scaled
// codings in units. False when padding is not zero. Every other bit pattern is a value: NaN and
// infinities are the caller's to judge.
bool DecodeValues(ByteSpan bytes, const ValueFormat& format, std::span<float> values);

}  // namespace weir::wire
