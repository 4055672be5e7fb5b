#include "tools/data/inspect_criteo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class InspectCriteo : public InspectTest {};

TEST_F(InspectCriteo, SummarisesEachColumn) {
  const std::string tail(24, '\t');
  std::string text;
  text += "1\t-3\t" + std::string(12, '\t') + "a\t7" + tail + "\n";
  text += "0\t7\t" + std::string(12, '\t') + "b\t7" + tail + "\n";
  text += "0\t\t" + std::string(12, '\t') + "a\t" + tail + "\n";
  text += "0\t2\t" + std::string(12, '\t') + "c\t7" + tail + "\n";
  const std::string printed = InspectedText(text);
  EXPECT_THAT(printed, HasSubstr("click rate  0.2500\n"));
  EXPECT_THAT(printed, ContainsRegex("I1 +25.00 % +-3 +7 +2.00\n"));
  EXPECT_THAT(printed, ContainsRegex("I2 +100.00 %\n"));
  EXPECT_THAT(printed, ContainsRegex("C1 +0.00 % +3\n"));
  EXPECT_THAT(printed, ContainsRegex("C2 +25.00 % +1\n"));
  EXPECT_THAT(printed, ContainsRegex("C26 +100.00 % +0\n"));
  EXPECT_THAT(printed, AllOf(HasSubstr("with it none of 4 lines is malformed"),
                             HasSubstr("rows_per_table: 1000\n")));
}

TEST_F(InspectCriteo, CountsMalformedLinesAndDescribesTheFirst) {
  const auto path = Write("f", data::CriteoLines(1, 15) + std::string(7, '\n'));
  EXPECT_THAT(Inspected(path), AllOf(HasSubstr("rows        14\nmalformed   7\n"),
                                     HasSubstr(path + ":15: empty line\n"),
                                     HasSubstr(path + ":19: empty line\nclick rate"),
                                     HasSubstr("with it 7 of 21 lines are malformed, the first: " +
                                               path + ":15: empty line\n"),
                                     HasSubstr("max_malformed_share: 0.67\n")));
  EXPECT_THAT(Inspected(path, 16), HasSubstr("rows        14\nmalformed   2\n"));
}

}  // namespace
}  // namespace weir::tools
