#include "worker/data/csv_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::data {
namespace {

using testing::ElementsAre;

std::vector<std::string> Split(std::string_view record, char delimiter = ',') {
  CsvFields fields(delimiter);
  const auto found = fields.Split(record);
  return {found.begin(), found.end()};
}

TEST(CsvFields, SplitsAtDelimitersAndTrims) {
  EXPECT_THAT(Split("a, b c ,\t,d"), ElementsAre("a", "b c", "", "d"));
  EXPECT_THAT(Split(""), ElementsAre(""));
  EXPECT_THAT(Split(","), ElementsAre("", ""));
  EXPECT_THAT(Split("a\tb,c", '\t'), ElementsAre("a", "b,c"));
}

TEST(CsvFields, TakesQuotesOff) {
  EXPECT_THAT(Split(R"("a,b",c)"), ElementsAre("a,b", "c"));
  EXPECT_THAT(Split(R"("say ""no""","")"), ElementsAre(R"(say "no")", ""));
  EXPECT_THAT(Split("\"two\nlines\",x"), ElementsAre("two\nlines", "x"));
  EXPECT_THAT(Split(R"("a"b,c)"), ElementsAre("ab", "c"));
  EXPECT_THAT(Split(R"("")"), ElementsAre(""));
}

TEST(CsvFields, LeavesQuotesWithinAFieldAsTheyAre) {
  EXPECT_THAT(Split(R"(5" pipe,a"b"c, "d")"), ElementsAre(R"(5" pipe)", R"(a"b"c)", R"("d")"));
}

TEST(CsvFields, TakesAnOpenQuoteToTheEnd) {
  EXPECT_THAT(Split(R"(a,"b,c)"), ElementsAre("a", "b,c"));
  EXPECT_THAT(Split("\""), ElementsAre(""));
}

TEST(CsvFields, IsReusedFromRecordToRecord) {
  CsvFields fields(',');
  EXPECT_EQ(fields.Split(R"("a",b)").size(), 2u);
  EXPECT_EQ(fields.Split("x").size(), 1u);
  EXPECT_EQ(fields.Split("x")[0], "x");
}

TEST(IsUtf8, TakesWhatTheStandardAllows) {
  for (const char* text : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "long enough \xc2\xa2"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(IsUtf8, RefusesEverythingElse) {
  for (const char* text :
       {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "caf\xe9 au lait", "\xe2\x82", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

}  // namespace
}  // namespace weir::data
