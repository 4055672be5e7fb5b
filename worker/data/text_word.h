// Eight characters at a time, in the bytes of a word, the first in the lowest: where its delimiters
// are, and what number its last characters write, without a branch.
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

// 1 in each byte that is `byte`, 0 in the others.
inline uint64_t MatchesOfWord(uint64_t word, uint8_t byte) {
  const uint64_t zero_at_matches = word ^ InEachByte(byte);
  const uint64_t low = (zero_at_matches & InEachByte(0x7f)) + InEachByte(0x7f);
  return (~(low | zero_at_matches) & InEachByte(0x80)) >> 7;
}

// Of bytes that are 0 or 1: bit i is byte i.
inline uint64_t GatherBytes(uint64_t bytes) { return bytes * 0x0102040810204080u >> 56; }

// Of bytes whose sum is below 256.
inline size_t SumOfBytes(uint64_t bytes) { return bytes * InEachByte(1) >> 56; }

inline constexpr size_t kBlockBytes = 64;

// Of a block of characters: bit i of at says that character i is a delimiter.
struct Delimiters {
  uint64_t at = 0;
  size_t count = 0;
};

inline Delimiters DelimitersOfBlock(const char* block, char delimiter) {
  Delimiters delimiters;
  uint64_t sums = 0;
  for (size_t i = 0; i < kBlockBytes; i += kWordBytes) {
    const uint64_t bytes = MatchesOfWord(LoadWord(block + i), static_cast<uint8_t>(delimiter));
    delimiters.at |= GatherBytes(bytes) << i;
    sums += bytes;
  }
  delimiters.count = SumOfBytes(sums);
  return delimiters;
}

// The last `length` bytes of a word.
inline constexpr std::array<uint64_t, kWordBytes + 1> kLastBytes = [] {
  std::array<uint64_t, kWordBytes + 1> masks{};
  for (size_t length = 1; length <= kWordBytes; ++length)
    masks[length] = ~0ull << (64 - 8 * length);
  return masks;
}();

// The last `length` bytes of a word, at most eight, moved down; zeros above them.
inline uint64_t LowBytes(uint64_t word, size_t length) {
  return length == 0 ? 0 : word >> (8 * (kWordBytes - length) % 64);
}

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

// The same of hexadecimal digits, for all words of an array: each has at most eight, the last ones,
// and '0' before them. The values' bytes come reversed. False if one is no digit. Not a call a
// word, so that the loop is vectorised.
template <size_t kCount>
inline bool HexWords(const std::array<uint64_t, kCount>& words,
                     std::array<uint64_t, kCount>* reversed) {
  uint64_t bad = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t text = words[i];
    const uint64_t letters = text >> 6 & InEachByte(1);  // '@' and behind
    const uint64_t digits = (text & InEachByte(0x0f)) + (letters << 3) + letters;
    // What these digits are written as must be what was read, but for the case.
    const uint64_t above_nine = (digits + InEachByte(6)) >> 4 & InEachByte(1);
    const uint64_t to_letter = (above_nine << 5) + (above_nine << 3) - above_nine;
    static_assert((1 << 5) + (1 << 3) - 1 == 'a' - '0' - 10);
    const uint64_t written = InEachByte('0') + digits + to_letter;
    bad |= (written ^ (text | letters << 5)) | (digits & InEachByte(0x10));
    const uint64_t pairs = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ffu;
    const uint64_t quads = (pairs | pairs >> 8) & 0x0000ffff0000ffffu;
    (*reversed)[i] = quads | quads >> 16;
  }
  return bad == 0;
}

// Such a word: the last `length` characters of word, and '0' before them.
inline uint64_t PadWord(uint64_t word, size_t length) {
  const uint64_t mask = kLastBytes[length];
  return (word & mask) | (InEachByte('0') & ~mask);
}

inline uint32_t ReverseBytes(uint64_t reversed) {
  return __builtin_bswap32(static_cast<uint32_t>(reversed));
}

}  // namespace weir::data
