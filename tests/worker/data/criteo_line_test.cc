#include "worker/data/criteo_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/strings.h"
#include "tests/worker/data/data_files.h"

namespace weir::data {
namespace {

using testing::Each;
using testing::HasSubstr;

// Label 1, integers and categoricals all "7".
std::vector<std::string> GoodFields() {
  std::vector<std::string> fields(40, "7");
  fields[0] = "1";
  return fields;
}

std::string Parse(const std::string& text, CriteoFields* fields) {
  return ParseCriteoLine(text, fields);
}

// What is wrong with the good line when one field is replaced.
std::string ProblemWith(size_t field, const std::string& text, CriteoFields* parsed = nullptr) {
  auto fields = GoodFields();
  fields[field] = text;
  CriteoFields ignored;
  return Parse(StrJoin(fields, "\t"), parsed == nullptr ? &ignored : parsed);
}

TEST(CriteoLine, GivesTheValuesOfEveryField) {
  CriteoFields fields;
  EXPECT_EQ(Parse(CriteoLine(6), &fields), "");
  EXPECT_TRUE(fields.clicked);
  EXPECT_EQ(fields.missing, 0u);
  for (size_t i = 0; i < kCriteoDenseCount; ++i) {
    EXPECT_EQ(fields.integers[i], 6 + static_cast<int64_t>(i));
  }
  for (size_t i = 0; i < kCriteoTableCount; ++i) EXPECT_EQ(fields.categoricals[i], 600 + i);
}

TEST(CriteoLine, MissingFieldsAreZeroAndMarkedAlsoWhenTabsEndTheLine) {
  CriteoFields fields;
  EXPECT_EQ(Parse("0" + std::string(39, '\t'), &fields), "");
  EXPECT_FALSE(fields.clicked);
  EXPECT_THAT(fields.integers, Each(0));
  EXPECT_THAT(fields.categoricals, Each(0u));
  EXPECT_EQ(fields.missing, (uint64_t{1} << 39) - 1);
  EXPECT_EQ(ProblemWith(1, "", &fields), "");
  EXPECT_EQ(fields.missing, 1u);
  EXPECT_EQ(ProblemWith(39, "", &fields), "");
  EXPECT_EQ(fields.missing, uint64_t{1} << 38);
}

TEST(CriteoLine, ReadsIntegersToTheEndsOf64Bits) {
  CriteoFields fields;
  for (const int64_t value : {std::numeric_limits<int64_t>::min(), int64_t{-2}, int64_t{0},
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ProblemWith(4, StrCat(value), &fields), "");
    EXPECT_EQ(fields.integers[3], value);
  }
}

TEST(CriteoLine, ReadsOneToEightHexadecimalDigitsOfEitherCase) {
  CriteoFields fields;
  const std::vector<std::pair<std::string, uint32_t>> cases = {
      {"0", 0}, {"f", 15}, {"00000001", 1}, {"DeadBEEF", 0xdeadbeef}, {"ffffffff", 0xffffffff}};
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(ProblemWith(14, text, &fields), "");
    EXPECT_EQ(fields.categoricals[0], value) << text;
  }
}

TEST(CriteoLine, RejectsALabelThatIsNotZeroOrOne) {
  for (const std::string text : {"", "2", "-1", "01", " 1", "1.0", "x"}) {
    EXPECT_EQ(ProblemWith(0, text), StrCat("the label is \"", text, "\", not 0 or 1"));
  }
}

TEST(CriteoLine, RejectsIntegersThatAreNoneOrTooLarge) {
  for (const std::string text : {"1.5", "x", "-", "+1", " 1", "1 ", "0x1", "--1", "1e3",
                                 "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_EQ(ProblemWith(13, text),
              StrCat("integer 13 is \"", text, "\", not a whole number within 64 bits"));
  }
}

TEST(CriteoLine, RejectsCategoricalsThatAreNotHexadecimal) {
  for (const std::string text : {"g", "12345678a", "-1", " f", "0x1", "a.b"}) {
    EXPECT_EQ(ProblemWith(39, text),
              StrCat("categorical 26 is \"", text, "\", not 1 to 8 hexadecimal digits"));
  }
}

TEST(CriteoLine, NamesAWrongNumberOfFieldsBeforeAnythingElse) {
  CriteoFields fields;
  EXPECT_EQ(Parse("", &fields), "empty line");
  EXPECT_EQ(Parse("1\t2\t3", &fields), "40 fields expected, found 3");
  EXPECT_EQ(Parse("hello, world", &fields), "40 fields expected, found 1");
  EXPECT_EQ(Parse(CriteoLine(1) + "\t", &fields), "40 fields expected, found 41");
  const std::string good = CriteoLine(1);
  EXPECT_EQ(Parse(good.substr(0, good.rfind('\t')), &fields), "40 fields expected, found 39");
}

TEST(CriteoLine, QuotesStrangeFieldsShortAndPrintable) {
  EXPECT_THAT(ProblemWith(1, std::string("a\x01\xff\0b", 5)), HasSubstr("\"a???b\""));
  EXPECT_THAT(ProblemWith(1, std::string(1000, 'z')),
              HasSubstr(StrCat(std::string(32, 'z'), "...\"")));
}

// A plain parser: what a line must give, or empty when it is malformed.
std::optional<CriteoFields> PlainParse(const std::string& line) {
  std::vector<std::string> texts(1);
  for (const char character : line) {
    if (character == '\t') {
      texts.emplace_back();
    } else {
      texts.back() += character;
    }
  }
  if (texts.size() != 40 || (texts[0] != "0" && texts[0] != "1")) return std::nullopt;
  CriteoFields fields{.clicked = texts[0] == "1", .integers = {}, .categoricals = {}};
  const auto read = [&](size_t i, auto* value, int base) {
    const std::string& text = texts[1 + i];
    fields.missing |= uint64_t{text.empty()} << i;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), *value, base);
    return text.empty() || (result.ec == std::errc() && result.ptr == text.data() + text.size());
  };
  for (size_t i = 0; i < 13; ++i) {
    if (!read(i, &fields.integers[i], 10)) return std::nullopt;
  }
  for (size_t i = 0; i < 26; ++i) {
    if (texts[14 + i].size() > 8 || !read(13 + i, &fields.categoricals[i], 16)) return std::nullopt;
  }
  return fields;
}

std::string RandomInteger(RandomStream& random) {
  const uint64_t value = random.Next() >> random.NextBelow(64);
  switch (random.NextBelow(8)) {
    case 0:
      return "";
    case 1:
      return StrCat(-static_cast<int64_t>(value >> 1));
    case 2:
      return std::string(random.NextBelow(12), '0') + StrCat(value & 0xffff);
    default:
      return StrCat(random.NextBelow(50) == 0 ? value : value >> 1);  // the former may be too large
  }
}

std::string RandomLine(RandomStream& random) {
  std::string line = random.NextBelow(2) == 0 ? "0" : "1";
  for (int i = 0; i < 13; ++i) line.append(1, '\t').append(RandomInteger(random));
  for (int i = 0; i < 26; ++i) {
    line += '\t';
    const uint64_t length = random.NextBelow(9) + (random.NextBelow(400) == 0 ? 1 : 0);
    for (uint64_t j = 0; j < length; ++j) line += "0123456789abcdefABCDEF"[random.NextBelow(22)];
  }
  return line;
}

void Damage(RandomStream& random, std::string* line) {
  const size_t at = random.NextBelow(line->size());
  switch (random.NextBelow(4)) {
    case 0:
      (*line)[at] = static_cast<char>(random.Next());
      break;
    case 1:
      line->erase(at, 1);
      break;
    case 2:
      line->insert(at, 1, "\t0-gx "[random.NextBelow(6)]);
      break;
    default:
      line->resize(at);
  }
}

TEST(CriteoLine, AgreesWithAPlainParserOnSoundAndBrokenLines) {
  RandomStream random(11);
  int sound = 0, broken = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string line = RandomLine(random);
    if (random.NextBelow(3) == 0) Damage(random, &line);
    const std::vector<char> exact(line.begin(), line.end());  // nothing readable around it
    const std::optional<CriteoFields> expected = PlainParse(line);
    CriteoFields fields;
    const std::string problem = ParseCriteoLine({exact.data(), exact.size()}, &fields);
    ASSERT_EQ(problem.empty(), expected.has_value()) << line << "\n" << problem;
    if (!expected) {
      EXPECT_NE(problem, "not a line of a Criteo log") << line;
      ++broken;
      continue;
    }
    ASSERT_EQ(fields.clicked, expected->clicked) << line;
    ASSERT_EQ(fields.integers, expected->integers) << line;
    ASSERT_EQ(fields.categoricals, expected->categoricals) << line;
    ASSERT_EQ(fields.missing, expected->missing) << line;
    ++sound;
  }
  EXPECT_GT(sound, 20'000);
  EXPECT_GT(broken, 10'000);
}

// Whatever the bytes, the parser stays inside the line (seen by the address sanitizer).
TEST(CriteoLine, SurvivesCutsAndFlippedBytes) {
  const std::string good = CriteoLine(123456);
  CriteoFields fields;
  for (size_t length = 0; length < good.size(); ++length) {
    const std::vector<char> exact(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    ParseCriteoLine({exact.data(), exact.size()}, &fields);
  }
  RandomStream random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string line = good;
    for (uint64_t flips = 1 + random.NextBelow(3); flips > 0; --flips) {
      line[random.NextBelow(line.size())] = static_cast<char>(random.Next());
    }
    Parse(line, &fields);
  }
}

}  // namespace
}  // namespace weir::data
