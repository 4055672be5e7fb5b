// Bits in and out, least significant bit of each byte first, a 64-bit word at a time.
//
// Both ends know Rice codes (Rice and Plaunt 1971): with parameter k, a number is quotient
// (number >> k) as that many 0 bits and a closing 1 bit, then the low k bits. The zeros are counted
// with one instruction, never in a loop over bits.
//
// Thread rule: thread-compatible; both borrow their bytes. The writer's space is ours, so writing
// past it is a CHECK. The reader's bytes are a peer's: it never reads past them, remembers that it
// was asked to, and gives zeros from then on.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/bytes.h"
#include "common/base/check.h"

namespace weir::wire {

// Legal order: Write* Finish.
class BitWriter {
 public:
  // space: filled from its beginning; exactly as long as what will be written, in bytes rounded up.
  explicit BitWriter(std::span<uint8_t> space) : space_(space) {}

  // The low bit_count bits of value, which has no others. bit_count in 0..64.
  void Write(uint64_t value, uint32_t bit_count) {
    DCHECK(bit_count == 64 || value >> bit_count == 0) << value << " in " << bit_count << " bits";
    word_ |= value << filled_;
    if (filled_ + bit_count < 64) {
      filled_ += bit_count;
      return;
    }
    Store(sizeof(word_));
    word_ = filled_ == 0 ? 0 : value >> (64 - filled_);
    filled_ = filled_ + bit_count - 64;
  }

  // parameter in 0..63.
  void WriteRice(uint64_t value, uint32_t parameter) {
    uint64_t quotient = value >> parameter;
    const uint64_t low = value & ((uint64_t{1} << parameter) - 1);
    if (quotient + parameter < 64) {
      Write((low << 1 | 1) << quotient, static_cast<uint32_t>(quotient) + 1 + parameter);
      return;
    }
    for (; quotient >= 64; quotient -= 64) Write(0, 64);
    Write(uint64_t{1} << quotient, static_cast<uint32_t>(quotient) + 1);
    Write(low, parameter);
  }

  // Pads the last byte with zeros. The whole space must then be in use.
  void Finish() {
    Store((filled_ + 7) / 8);
    CHECK_EQ(position_, space_.size());
  }

 private:
  void Store(size_t byte_count) {
    CHECK_LE(position_ + byte_count, space_.size());
    if (byte_count > 0) std::memcpy(space_.data() + position_, &word_, byte_count);
    position_ += byte_count;
  }

  std::span<uint8_t> space_;
  size_t position_ = 0;
  uint64_t word_ = 0;
  uint32_t filled_ = 0;  // bits of word_ in use, below 64
};

class BitReader {
 public:
  explicit BitReader(ByteSpan bytes)
      : begin_(bytes.data()), next_(begin_), end_(begin_ + bytes.size()) {}

  // bit_count in 0..64.
  uint64_t Read(uint32_t bit_count) {
    if (bit_count <= kRefilledBits) return ReadShort(bit_count);
    const uint64_t low = ReadShort(32);
    return low | ReadShort(bit_count - 32) << 32;
  }

  // parameter in 0..63. A number of more than 64 bits is an error like the end of the bytes.
  uint64_t ReadRice(uint32_t parameter) {
    auto zeros = static_cast<uint32_t>(std::countr_zero(word_));
    if (zeros + 1 + parameter > available_) {
      Refill();
      zeros = static_cast<uint32_t>(std::countr_zero(word_));
      if (zeros + 1 + parameter > available_) return ReadLongRice(parameter);
    }
    word_ = word_ >> zeros >> 1;  // in two shifts: zeros + 1 may be the width of the word
    const uint64_t low = word_ & ((uint64_t{1} << parameter) - 1);
    word_ >>= parameter;
    available_ -= zeros + 1 + parameter;
    return static_cast<uint64_t>(zeros) << parameter | low;
  }

  // Bytes touched so far, the last one perhaps in part.
  size_t bytes_consumed() const { return static_cast<size_t>(next_ - begin_) - available_ / 8; }
  // Whether the bits that are left of the last byte touched are zero, as a writer leaves them.
  bool padding_is_zero() const { return (word_ & ((uint64_t{1} << available_ % 8) - 1)) == 0; }
  bool ok() const { return ok_; }

 private:
  // After Refill() there are so many bits at least, unless the bytes end.
  static constexpr uint32_t kRefilledBits = 56;

  uint64_t ReadShort(uint32_t bit_count) {
    if (available_ < bit_count) Refill();
    if (available_ < bit_count) return Fail();
    const uint64_t value = word_ & ((uint64_t{1} << bit_count) - 1);
    word_ >>= bit_count;
    available_ -= bit_count;
    return value;
  }

  // Away from the end, a whole word is or-ed in and only its complete bytes are taken: the bits of
  // the next byte that came along are the same when they come again.
  void Refill() {
    if (end_ - next_ >= 8) {
      uint64_t word;
      std::memcpy(&word, next_, sizeof(word));
      word_ |= word << available_;
      next_ += (63 - available_) / 8;
      available_ |= kRefilledBits;
      return;
    }
    for (; available_ <= kRefilledBits && next_ < end_; available_ += 8) {
      word_ |= static_cast<uint64_t>(*next_++) << available_;
    }
  }

  // A code that may not fit into one refilled word.
  uint64_t ReadLongRice(uint32_t parameter);

  uint64_t Fail() {
    ok_ = false;
    word_ = 0;
    available_ = 0;
    next_ = end_;
    return 0;
  }

  const uint8_t* begin_;
  const uint8_t* next_;
  const uint8_t* end_;
  uint64_t word_ = 0;       // the next bits, lowest first
  uint32_t available_ = 0;  // how many of them count, at most 64
  bool ok_ = true;
};

}  // namespace weir::wire
