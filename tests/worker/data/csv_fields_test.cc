#include "worker/data/csv_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> SplitFields(std::string_view record, char delimiter = ',') {
  CsvFields fields(delimiter);
  const size_t count = fields.Split(record);
  const std::vector<std::string_view> found = fields.All();
  EXPECT_EQ(found.size(), count);
  return {found.begin(), found.end()};
}

TEST(CsvFields, SplitsAtDelimitersAndTrims) {
  EXPECT_THAT(SplitFields("a, b c ,\t,d"), ElementsAre("a", "b c", "", "d"));
  EXPECT_THAT(SplitFields(""), ElementsAre(""));
  EXPECT_THAT(SplitFields(","), ElementsAre("", ""));
  EXPECT_THAT(SplitFields("a\tb,c", '\t'), ElementsAre("a", "b,c"));
}

TEST(CsvFields, TakesQuotesOff) {
  EXPECT_THAT(SplitFields(R"("a,b",c)"), ElementsAre("a,b", "c"));
  EXPECT_THAT(SplitFields(R"("say ""no""","")"), ElementsAre(R"(say "no")", ""));
  EXPECT_THAT(SplitFields("\"two\nlines\",x"), ElementsAre("two\nlines", "x"));
  EXPECT_THAT(SplitFields(R"("a"b,c)"), ElementsAre("ab", "c"));
  EXPECT_THAT(SplitFields(R"("")"), ElementsAre(""));
}

TEST(CsvFields, TellsTextAfterAClosingQuote) {
  CsvFields fields(',');
  for (const char* good : {R"("a",b)", R"(a,"b" ,c)", R"("a""b",c)", R"(a"b",c)", R"(,"")"}) {
    fields.Split(good);
    EXPECT_FALSE(fields.has_text_after_quote()) << good;
  }
  for (const char* bad : {R"("a"b,c)", R"(x,"a" b)", R"("a"" "x)"}) {
    fields.Split(bad);
    EXPECT_TRUE(fields.has_text_after_quote()) << bad;
  }
}

TEST(CsvFields, TrimsWithinQuotes) {
  EXPECT_THAT(SplitFields(R"(" a ","b)"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitFields("\"a\t\"\tb", '\t'), ElementsAre("a", "b"));
}

TEST(CsvFields, LeavesQuotesWithinAFieldAsTheyAre) {
  EXPECT_THAT(SplitFields(R"(5" pipe,a"b"c, "d")"),
              ElementsAre(R"(5" pipe)", R"(a"b"c)", R"("d")"));
}

TEST(CsvFields, GivesManyFieldsOfAllLengths) {
  for (const size_t count : {1u, 3u, 40u, 63u, 64u, 65u, 300u}) {
    std::string record;
    std::vector<std::string> expected;
    for (size_t i = 0; i < count; ++i) {
      expected.emplace_back(i * 7 % 19, static_cast<char>('a' + i % 26));
      record += (i == 0 ? "" : ",") + expected.back();
    }
    EXPECT_EQ(SplitFields(record), expected);
  }
}

TEST(CsvFields, LoadsShortFieldsAsWordsAndNumbers) {
  CsvFields fields(',');
  ASSERT_EQ(fields.Split("7,12345678,123456789,,ab,-1"), 6u);
  int64_t value = -1;
  size_t length = 0;
  EXPECT_TRUE(fields.ShortCount(0, &length, &value));
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(fields.ShortCount(1, &length, &value));
  EXPECT_EQ(value, 12345678);
  EXPECT_TRUE(fields.ShortCount(3, &length, &value));
  EXPECT_EQ(value, 0);
  EXPECT_EQ(length, 0u);
  for (const size_t other : {2u, 4u, 5u}) {
    EXPECT_FALSE(fields.ShortCount(other, &length, &value));
  }
  uint64_t word = 0;
  EXPECT_TRUE(fields.ShortWord(4, &word, &length));
  EXPECT_EQ(word, uint64_t{'a'} | uint64_t{'b'} << 8);
  EXPECT_EQ(length, 2u);
  EXPECT_TRUE(fields.ShortWord(3, &word, &length));
  EXPECT_EQ(word, 0u);
  EXPECT_FALSE(fields.ShortWord(2, &word, &length));
}

TEST(CsvFields, TakesAnOpenQuoteToTheEnd) {
  EXPECT_THAT(SplitFields(R"(a,"b,c)"), ElementsAre("a", "b,c"));
  EXPECT_THAT(SplitFields("\""), ElementsAre(""));
}

TEST(CsvFields, TakesQuotesForTextWhereTheyDoNotCount) {
  CsvFields fields('\t', false);
  EXPECT_EQ(fields.Split("u1\t\"open\t 5\" \t\"\""), 4u);
  EXPECT_THAT(fields.All(), ElementsAre("u1", "\"open", "5\"", "\"\""));
  EXPECT_FALSE(fields.has_text_after_quote());
}

TEST(CsvFields, IsReusedFromRecordToRecord) {
  CsvFields fields(',');
  EXPECT_EQ(fields.Split(R"("a",b)"), 2u);
  EXPECT_EQ(fields.Split("x"), 1u);
  EXPECT_EQ(fields[0], "x");
}

}  // namespace
}  // namespace weir::data
