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

std::string Clicks(int stray_every, const std::string& stray, const char* yes, const char* no) {
  return Lines(601, [&](int i) {
    if (i == 0) return std::string("label,x");
    return i % stray_every == 0 ? stray : StrCat(i % 3 == 0 ? yes : no, ",", i, ".5");
  });
}

// As of a file that was put together from parts with headers, or was cut off.
TEST_F(LabelChoice, AFewStrayWordsDoNotMakeTwoNumbersAnotherThing) {
  EXPECT_THAT(InspectedText(Clicks(300, "label,x", "1", "0")),
              AllOf(HasSubstr("label       label: it has two values"),
                    HasSubstr("with it 2 of 600 lines are malformed"), HasSubstr("'label'")));
  EXPECT_THAT(InspectedText(Clicks(300, "O,1.5", "1", "0")),
              AllOf(HasSubstr("it has two values but for a few strays"),
                    HasSubstr("with it 2 of 600 lines are malformed")));
}

TEST_F(LabelChoice, ManyOfThemOtherNumbersAndThirdWordsDo) {
  std::ostringstream out;
  const auto named = [&](const std::string& text) {
    return Inspect({.path = Write("f", text), .label = "label"}, out);
  };
  EXPECT_TRUE(named(Clicks(300, "2,1.5", "1", "0")).ok());
  EXPECT_THAT(out.str(), HasSubstr("positive: [\"2\"] negative: [\"0\", \"1\"]"));
  EXPECT_FALSE(named(Clicks(50, "O,1.5", "1", "0")).ok());
  EXPECT_THAT(named(Clicks(300, "fraud,1.5", "refunded", "ok")).message(),
              HasSubstr("has 3 different values"));
}

TEST_F(LabelChoice, AColumnWithStraysIsNoGuess) {
  const std::string text = Lines(601, [](int i) {
    if (i == 0) return std::string("bought_it,age,country");
    return StrCat(i % 2, ",", 20 + i % 40, ".5,", i % 300 == 0 ? "FR" : i % 3 == 0 ? "US" : "CA");
  });
  EXPECT_THAT(InspectedText(text), HasSubstr("label       bought_it: it is the first column"));
}

}  // namespace
}  // namespace weir::tools
