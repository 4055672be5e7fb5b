#include "common/base/rare_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/strings.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(RareLines, TellsOneASecondOfEachAndCountsTheOthers) {
  RareLines lines;
  EXPECT_THAT(lines.Take("a", "x", 5000), Optional(std::string("x")));
  EXPECT_THAT(lines.Take("b", "y", 5000), Optional(std::string("y")));
  EXPECT_EQ(lines.Take("a", "x", 5001), std::nullopt);
  EXPECT_EQ(lines.Take("a", "x", 5999), std::nullopt);
  EXPECT_THAT(lines.Take("a", "z", 6000),
              Optional(std::string("z (2 more like it before were not told)")));
}

TEST(RareLines, TellsInTheEndWhatWasCounted) {
  RareLines lines;
  lines.Take("a", "x", 0);
  for (int i = 0; i < 5; ++i) lines.Take("a", "y", 10);
  EXPECT_THAT(lines.TakeCounted(999), IsEmpty());
  EXPECT_THAT(lines.TakeCounted(1000), ElementsAre("y (4 more like it before were not told)"));
  lines.Take("a", "z", 1001);
  EXPECT_THAT(lines.TakeCounted(2000), ElementsAre("z"));
  EXPECT_THAT(lines.TakeCounted(9000), IsEmpty());
}

// Each of its connections makes a sender anew.
TEST(RareLines, WhoeverComesWithoutEndIsToldOfTogether) {
  RareLines lines;
  int told = 0;
  for (int i = 0; i < 10000; ++i) told += lines.Take(StrCat(i), "x", 0).has_value() ? 1 : 0;
  EXPECT_LE(told, 101);
  EXPECT_THAT(lines.TakeCounted(1000), ElementsAre("x (9898 more like it before were not told)"));
}

}  // namespace
}  // namespace weir
