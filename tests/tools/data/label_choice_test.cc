#include "tools/data/label_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "common/base/strings.h"
#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LabelChoice : public InspectTest {};

TEST_F(LabelChoice, RefusesLabelsThatTellNothingApart) {
  std::ostringstream out;
  const std::string path = Write("f", Lines(300, [](int i) {
                                   return i == 0 ? std::string("y,name") : StrCat(i, ".5,n", i % 3);
                                 }));
  EXPECT_THAT(
      Inspect({.path = path, .label = "y"}, out).message(),
      HasSubstr("column y has 299 different values, such as '1.5' and '99.5'; a label says yes "
                "or no"));
  const std::string ones = Write("g", "y,x\n1,2.5\n1,3.5\n1,4.5\n");
  EXPECT_THAT(Inspect({.path = ones, .label = "y"}, out).message(),
              HasSubstr("column y has no label but '1': there is nothing to tell apart"));
}

// As of a file that was put together from parts with headers, or was cut off.
TEST_F(LabelChoice, AFewStrayValuesDoNotMakeALabelAnotherThing) {
  const auto clicks = [](const std::string& stray, const char* yes, const char* no) {
    return Lines(601, [&](int i) {
      if (i == 0) return std::string("label,x");
      return i % 300 == 0 ? stray : StrCat(i % 3 == 0 ? yes : no, ",", i, ".5");
    });
  };
  EXPECT_THAT(InspectedText(clicks("label,x", "1", "0")),
              AllOf(HasSubstr("label       label: it has two values"),
                    HasSubstr("with it 2 of 600 lines are malformed"), HasSubstr("'label'")));
  EXPECT_THAT(InspectedText(clicks("ye,1.5", "yes", "no")),
              AllOf(HasSubstr("positive: [\"yes\"] negative: [\"no\"]"),
                    HasSubstr("with it 2 of 600 lines are malformed")));
}

TEST_F(LabelChoice, ManyStrayValuesAndOtherNumbersDo) {
  const auto clicks = [](int stray_every, const char* stray, const char* yes, const char* no) {
    return Lines(601, [&](int i) {
      if (i == 0) return std::string("label,x");
      return StrCat(i % stray_every == 0 ? stray : i % 3 == 0 ? yes : no, ",", i, ".5");
    });
  };
  std::ostringstream out;
  EXPECT_TRUE(
      Inspect({.path = Write("f", clicks(300, "2", "1", "0")), .label = "label"}, out).ok());
  EXPECT_THAT(out.str(), HasSubstr("positive: [\"2\"] negative: [\"0\", \"1\"]"));
  EXPECT_THAT(
      Inspect({.path = Write("g", clicks(50, "ye", "yes", "no")), .label = "label"}, out).message(),
      HasSubstr("has 3 different values"));
}

}  // namespace
}  // namespace weir::tools
