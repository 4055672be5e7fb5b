#include "common/base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Strings, StrCatTakesWhatStreamsTake) {
  EXPECT_EQ(StrCat("C", 3, "/", 0.5, std::string("x")), "C3/0.5x");
  EXPECT_EQ(StrCat(""), "");
}

TEST(Strings, StrJoinPutsTheSeparatorBetween) {
  EXPECT_EQ(StrJoin({}, ", "), "");
  EXPECT_EQ(StrJoin({"a"}, ", "), "a");
  EXPECT_EQ(StrJoin({"a", "", "b"}, ", "), "a, , b");
}

TEST(Strings, StrSplitKeepsEmptyParts) {
  EXPECT_THAT(StrSplit("", ','), IsEmpty());
  EXPECT_THAT(StrSplit("a", ','), ElementsAre("a"));
  EXPECT_THAT(StrSplit(",a,,b,", ','), ElementsAre("", "a", "", "b", ""));
}

TEST(Strings, QuotesWordsForTheShell) {
  EXPECT_EQ(ShellWord("a/b-c_1.csv"), "a/b-c_1.csv");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(Strings, LowersLettersAlone) {
  EXPECT_EQ(Lower("User_ID-9 \xc3\x84z@["), "user_id-9 \xc3\x84z@[");
  EXPECT_EQ(Lower(""), "");
}

TEST(Strings, FormatsValuesAndBytes) {
  EXPECT_EQ(Format("%.4f", 0.12345), "0.1235");
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(1'234'567), "1.2 MB");
  EXPECT_EQ(FormatBytes(5e9), "5.0 GB");
  EXPECT_EQ(FormatBytes(7.25e15), "7250.0 TB");
}

TEST(Strings, FormatsValuesOfAnyLength) {
  const std::string text = Format("%.5f", 1e300);
  EXPECT_EQ(text.size(), 301u + 6u);
  EXPECT_EQ(text.substr(text.size() - 6), ".00000");
  EXPECT_EQ(std::stod(text), 1e300);
  EXPECT_EQ(Format("", 1), "");
}

}  // namespace
}  // namespace weir
