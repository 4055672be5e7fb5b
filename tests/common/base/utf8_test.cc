#include "common/base/utf8.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(IsUtf8, TakesWhatTheStandardAllows) {
  for (const char* text :
       {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "long enough \xc2\xa2"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(IsUtf8, RefusesEverythingElse) {
  for (const char* text : {"\x80", "\xc3", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
                           "caf\xe9 au lait", "\xe2\x82", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(ToUtf8, KeepsWhatIsUtf8AndTheAsciiOfWhatIsNot) {
  EXPECT_EQ(ToUtf8("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(ToUtf8("data/caf\xe9.tsv: line 3"), "data/caf?.tsv: line 3");
  EXPECT_EQ(ToUtf8(""), "");
}

}  // namespace
}  // namespace weir
