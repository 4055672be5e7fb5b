#include "worker/data/text_word.h"

#include <gtest/gtest.h>

#include <charconv>
#include <string>

#include "common/base/random.h"

namespace weir::data {
namespace {

// Eight characters that are often digits, now and then anything.
std::string RandomText(RandomStream& random) {
  static constexpr std::string_view kLikely = "0123456789abcdefABCDEF\t:@`gG/";
  std::string text;
  for (size_t i = 0; i < kWordBytes; ++i) {
    text += random.NextBelow(40) == 0 ? static_cast<char>(random.Next())
                                      : kLikely[random.NextBelow(kLikely.size())];
  }
  return text;
}

// Plain forms; false when a character is no digit of the base.
bool Number(std::string_view text, int base, uint32_t* value) {
  *value = 0;
  if (text.empty()) return true;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool ReadHex(const std::string& text, size_t length, uint32_t* value) {
  const std::array<uint64_t, 1> words = {PadWord(LoadWord(text.data()), length)};
  std::array<uint64_t, 1> reversed;
  const bool good = HexWords(words, &reversed);
  *value = ReverseBytes(reversed[0]);
  return good;
}

TEST(TextWord, FindsEveryTabAndNothingElse) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t at = 0; at < kWordBytes; ++at) {
      std::string text(kWordBytes, '\t');
      text[at] = static_cast<char>(byte);
      const uint64_t expected = byte == '\t' ? 0xff : 0xff & ~(1u << at);
      const uint64_t tabs = MatchesOfWord(LoadWord(text.data()), '\t');
      EXPECT_EQ(GatherBytes(tabs), expected) << byte << " at " << at;
      EXPECT_EQ(SumOfBytes(tabs), byte == '\t' ? 8u : 7u);
    }
  }
}

TEST(TextWord, ReadsNumbersAsFromCharsDoes) {
  RandomStream random(7);
  int decimals = 0, hexadecimals = 0;
  for (int i = 0; i < 500'000; ++i) {
    const std::string text = RandomText(random);
    const size_t length = random.NextBelow(kWordBytes + 1);
    const std::string_view last = std::string_view(text).substr(kWordBytes - length);
    uint32_t expected;
    int64_t decimal;
    const bool is_decimal = Number(last, 10, &expected);
    ASSERT_EQ(DecimalWord(LoadWord(text.data()), length, &decimal), is_decimal) << last;
    if (is_decimal) {
      ASSERT_EQ(decimal, expected) << last;
      ++decimals;
    }
    const bool is_hexadecimal = Number(last, 16, &expected);
    uint32_t hexadecimal;
    ASSERT_EQ(ReadHex(text, length, &hexadecimal), is_hexadecimal) << last;
    if (is_hexadecimal) {
      ASSERT_EQ(hexadecimal, expected) << last;
      ++hexadecimals;
    }
  }
  EXPECT_GT(decimals, 50'000);
  EXPECT_GT(hexadecimals, 100'000);
}

TEST(TextWord, JudgesEachByteAtEachPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t at = 0; at < kWordBytes; ++at) {
      std::string text = "12345678";
      text[at] = static_cast<char>(byte);
      uint32_t expected;
      int64_t decimal;
      EXPECT_EQ(DecimalWord(LoadWord(text.data()), 8, &decimal), Number(text, 10, &expected))
          << byte << " at " << at;
      uint32_t ignored;
      EXPECT_EQ(ReadHex(text, 8, &ignored), Number(text, 16, &expected)) << byte << " at " << at;
    }
  }
}

TEST(TextWord, OneBadWordOfManyIsEnough) {
  std::array<uint64_t, 5> words, reversed;
  for (size_t bad = 0; bad <= words.size(); ++bad) {
    words.fill(LoadWord("89abcdef"));
    if (bad < words.size()) words[bad] = LoadWord("89abcdeg");
    EXPECT_EQ(HexWords(words, &reversed), bad == words.size());
  }
  for (const uint64_t value : reversed) EXPECT_EQ(ReverseBytes(value), 0x89abcdefu);
}

}  // namespace
}  // namespace weir::data
