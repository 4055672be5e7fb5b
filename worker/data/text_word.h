// Eight characters at a time, in the bytes of a word, the first in the lowest: where its tabs are,
// and what number its last characters write, without a branch.
//
// Place in the life of a batch: read -> **parse** -> batch.
// Thread rule: pure functions, any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir::data {

inline constexpr size_t kWordBytes = sizeof(uint64_t);
static_assert(std::endian::native == std::endian::little);

constexpr uint64_t InEachByte(uint8_t byte) { return 0x0101010101010101u * byte; }

inline uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, kWordBytes);
  return word;
}

// Bit i: the word's character i is a tab.
inline uint64_t TabsOfWord(uint64_t word) {
  const uint64_t zero_at_tabs = word ^ InEachByte('\t');
  const uint64_t low = (zero_at_tabs & InEachByte(0x7f)) + InEachByte(0x7f);
  const uint64_t tabs = ~(low | zero_at_tabs) & InEachByte(0x80);
  return (tabs >> 7) * 0x0102040810204080u >> 56;  // gathers the eight bits in the highest byte
}

// The last `length` bytes of a word.
inline constexpr std::array<uint64_t, kWordBytes + 1> kLastBytes = [] {
  std::array<uint64_t, kWordBytes + 1> masks{};
  for (size_t length = 1; length <= kWordBytes; ++length)
    masks[length] = ~0ull << (64 - 8 * length);
  return masks;
}();

// A word of at most eight decimal digits, the last `length` of the characters; false if one is no
// digit.
inline bool DecimalWord(uint64_t word, size_t length, int64_t* value) {
  const uint64_t digits = (word ^ InEachByte('0')) & kLastBytes[length];
  const bool good = (((digits + InEachByte(0x7f - 9)) | digits) & InEachByte(0x80)) == 0;
  // Neighbours join: to four numbers below 100, to two below 10,000, to one.
  const uint64_t pairs = digits * 10 + (digits >> 8);
  const uint64_t high = (pairs & 0x000000ff000000ffu) * (100 + (1'000'000ull << 32));
  const uint64_t low = (pairs >> 16 & 0x000000ff000000ffu) * (1 + (10'000ull << 32));
  *value = static_cast<int64_t>((high + low) >> 32);
  return good;
}

// The same of hexadecimal digits; *bad has bits set if one is none, and keeps those it had.
inline uint32_t HexWord(uint64_t word, size_t length, uint64_t* bad) {
  const uint64_t mask = kLastBytes[length];
  const uint64_t text = (word & mask) | (InEachByte('0') & ~mask);
  const uint64_t letters = text >> 6 & InEachByte(1);  // '@' and behind
  const uint64_t digits = (text & InEachByte(0x0f)) + letters * 9;
  // What these digits are written as must be what was read, but for the case.
  const uint64_t above_nine = (digits + InEachByte(6)) >> 4 & InEachByte(1);
  const uint64_t written = InEachByte('0') + digits + above_nine * ('a' - '0' - 10);
  *bad |= (written ^ (text | letters << 5)) | (digits & InEachByte(0x10));
  const uint64_t pairs = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ffu;
  const uint64_t quads = (pairs | pairs >> 8) & 0x0000ffff0000ffffu;
  return __builtin_bswap32(static_cast<uint32_t>(quads | quads >> 16));
}

}  // namespace weir::data
