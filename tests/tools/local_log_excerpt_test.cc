#include "tools/local/log_excerpt.h"

#include <gmock/gmock.h>

#include "tests/tools/local_support.h"

namespace weir::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LogExcerptTest : public LocalTest {
 protected:
  std::vector<std::string> Excerpt(const std::string& text) {
    WriteFile(Path("log"), text);
    return LogExcerpt(Path("log"));
  }
};

TEST_F(LogExcerptTest, IsTheLastError) {
  EXPECT_THAT(Excerpt("error: first\nfine again\nerror: second\nI1121 goodbye\n"),
              ElementsAre("error: second"));
}

TEST_F(LogExcerptTest, KeepsErrorsThatWereToldTogether) {
  EXPECT_THAT(Excerpt("error: old\nstart\nerror: a.textproto:3:1: no field x\nerror: --threads=0\n"
                      "--stage: must be 0\nI1121 end\n"),
              ElementsAre("error: a.textproto:3:1: no field x", "error: --threads=0",
                          "--stage: must be 0"));
}

TEST_F(LogExcerptTest, IsTheFailedCheckRatherThanItsStackTrace) {
  EXPECT_THAT(Excerpt("I1121 hello\nF1121 10:00:00.0 7 store.cc:12] Check failed: a == b\n"
                      "*** Check failure stack trace: ***\n    @ 0x1\n    @ 0x2\n    @ 0x3\n"
                      "    @ 0x4\n    @ 0x5\n"),
              ElementsAre("F1121 10:00:00.0 7 store.cc:12] Check failed: a == b"));
}

TEST_F(LogExcerptTest, ElseIsTheLastFiveLines) {
  EXPECT_THAT(Excerpt("1\n2\n3\n\n4\n5\n6\n7"), ElementsAre("3", "4", "5", "6", "7"));
  EXPECT_THAT(Excerpt("1\n"), ElementsAre("1"));
}

TEST_F(LogExcerptTest, IsEmptyWithoutALog) {
  EXPECT_THAT(LogExcerpt(Path("absent")), IsEmpty());
  EXPECT_THAT(Excerpt(""), IsEmpty());
}

TEST_F(LogExcerptTest, ReadsTheEndOfALongLog) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + "\n";
  EXPECT_THAT(Excerpt(text).back(), "line 19999");
  EXPECT_THAT(Excerpt(text + "error: far down\n"), ElementsAre("error: far down"));
}

}  // namespace
}  // namespace weir::tools
