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
  // Writes are whole words, so the space must go on for so many bytes behind the last bit written.
  static constexpr size_t kSlackBytes = 8;

  // space: filled from its beginning.
  explicit BitWriter(std::span<uint8_t> space) : space_(space) {}

  // The low bit_count bits of value, which has no others. bit_count in 0..64.
  void Write(uint64_t value, uint32_t bit_count) {
    DCHECK(bit_count == 64 || value >> bit_count == 0) << value << " in " << bit_count << " bits";
    if (bit_count <= kShortBits) return WriteShort(value, bit_count);
    WriteShort(value & 0xffffffff, 32);
    WriteShort(value >> 32, bit_count - 32);
  }

  // parameter in 0..63.
  void WriteRice(uint64_t value, uint32_t parameter) {
    const uint64_t quotient = value >> parameter;
    if (quotient + parameter >= kShortBits) {
      *this = WriteLongRice(*this, value, parameter);
      return;
    }
    const uint64_t low = value & ((uint64_t{1} << parameter) - 1);
    WriteShort((low << 1 | 1) << quotient, static_cast<uint32_t>(quotient) + 1 + parameter);
  }

  // Pads the last byte with zeros. Returns the bytes written.
  size_t Finish() const { return position_ + (filled_ > 0 ? 1 : 0); }

 private:
  // Behind the bits of a byte that is not full there is room for so many.
  static constexpr uint32_t kShortBits = 56;

  // By value: a writer whose address is taken cannot stay in registers.
  static BitWriter WriteLongRice(BitWriter writer, uint64_t value, uint32_t parameter);

  void WriteShort(uint64_t value, uint32_t bit_count) {
    CHECK(position_ + sizeof(word_) <= space_.size());  // _LE would keep both in memory
    word_ |= value << filled_;
    std::memcpy(space_.data() + position_, &word_, sizeof(word_));
    filled_ += bit_count;
    position_ += filled_ / 8;
    word_ >>= filled_ / 8 * 8;
    filled_ %= 8;
  }

  std::span<uint8_t> space_;
  size_t position_ = 0;  // whole bytes written
  uint64_t word_ = 0;    // the bits behind them
  uint32_t filled_ = 0;  // how many, below 8
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
  uint64_t ReadRice(uint32_t parameter);

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

  // A code that may not fit into one refilled word, and the reader behind it.
  struct LongCode;
  static LongCode ReadLongRice(BitReader reader, uint32_t parameter);
  uint64_t TakeLongRice(uint32_t parameter);

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

struct BitReader::LongCode {
  BitReader reader;
  uint64_t value;
};

inline uint64_t BitReader::ReadRice(uint32_t parameter) {
  auto zeros = static_cast<uint32_t>(std::countr_zero(word_));
  if (zeros + 1 + parameter > available_) {
    Refill();
    zeros = static_cast<uint32_t>(std::countr_zero(word_));
    if (zeros + 1 + parameter > available_) {
      // By value, so that a loop over codes keeps its reader in registers.
      const LongCode code = ReadLongRice(*this, parameter);
      *this = code.reader;
      return code.value;
    }
  }
  const uint64_t low = word_ >> zeros >> 1 & ((uint64_t{1} << parameter) - 1);
  word_ = word_ >> (zeros + parameter) >> 1;  // in two shifts: the code may be the whole word
  available_ -= zeros + 1 + parameter;
  return static_cast<uint64_t>(zeros) << parameter | low;
}

}  // namespace weir::wire
