#include "tools/data/libsvm_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/data/inspect_support.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class InspectLibsvm : public InspectTest {};

TEST_F(InspectLibsvm, FillsTheLabelsInThatAreThere) {
  EXPECT_THAT(
      InspectedText("1.0 3:1 9:1\n0.0 4:1 9:1\n1.0 3:1 8:1\n"),
      AllOf(HasSubstr("rows        3 looked at, 6 features, largest id 9\n"),
            HasSubstr("labels      0.0 (1 times), 1.0 (2 times)\n"), HasSubstr("positive: \"1.0\""),
            HasSubstr("negative: \"0.0\""), HasSubstr("with it none of 3 lines is malformed")));
  EXPECT_THAT(InspectedText("1 3:1\n2 4:1\n"),
              AllOf(HasSubstr("positive: \"2\""), HasSubstr("negative: \"1\"")));
  EXPECT_THAT(
      InspectedText("+1 3:1\n-1 4:1\n1 4:1\n"),
      AllOf(HasSubstr("positive: \"+1\"\n    positive: \"1\""), HasSubstr("negative: \"-1\"")));
  EXPECT_THAT(InspectedText("4 3:1\n1 4:1\n5 4:1\n2 1:1\n3 2:2\n"),
              AllOf(HasSubstr("positive    4, 5: the upper end of a scale from 1 to 5")));
}

TEST_F(InspectLibsvm, GivesTablesMoreRowsThanTheLargestId) {
  EXPECT_THAT(InspectedText("1 3:1\n0 123456:1\n"), HasSubstr("rows_per_table: 200000\n"));
  EXPECT_THAT(InspectedText("1 3:1\n0 18446744073709551615:1\n"),
              HasSubstr("rows_per_table: 1099511627776\n"));
}

TEST_F(InspectLibsvm, CountsTheFieldsOfLibffmBetweenTabs) {
  EXPECT_THAT(
      InspectedText("1\t0:1:1\t1:5:1\n0\t0:2:1\t2:5:1 # of 9\n"),
      AllOf(HasSubstr("format      libffm"), HasSubstr("fields 0 to 2"), HasSubstr("fields: 3")));
  EXPECT_THAT(RefusedText("1 5000:1:1\n0 2:1:1\n"), HasSubstr("field 5000 is above 1023"));
}

TEST_F(InspectLibsvm, ALineMayHaveALabelAlone) {
  EXPECT_THAT(InspectedText("-1 3:1\n+1\n1 2:0.5\n"), HasSubstr("format      libsvm"));
}

TEST_F(InspectLibsvm, NamesGroupsAndWhatIsNoNumber) {
  const std::string path = Write("rank.svm", "1 qid:3 1:0.5\n0 qid:3 2:1\n");
  EXPECT_THAT(
      Refused(path),
      AllOf(HasSubstr("2 words begin with qid:, which groups rows to be ranked and is not read"),
            HasSubstr("sed -E 's/[ \\t]+qid:[0-9]+//' " + path)));
  EXPECT_THAT(RefusedText("1 1:0.5 3:nan\n0 2:-Inf\n"),
              HasSubstr("2 features have nan or inf for a value, which is not read"));
}

TEST_F(InspectLibsvm, CountsLinesThatTheReaderRefuses) {
  const std::string text =
      Lines(60, [](int i) { return i == 30 ? std::string("0 x:1") : StrCat(i % 2, " ", i, ":1"); });
  EXPECT_THAT(InspectedText(text), HasSubstr("with it 1 of 60 lines is malformed, the first: " +
                                             Path("f") + ":31: 'x:1' is not id:value"));
}

TEST_F(InspectLibsvm, RefusesRowsOfOneKind) {
  EXPECT_THAT(RefusedText("1 3:1\n1 4:1\n"), HasSubstr("has no label but '1'"));
  EXPECT_THAT(RefusedText("1 3:1\n1.0 4:1\n"), HasSubstr("has no label but 1"));
}

}  // namespace
}  // namespace weir::tools
