#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "common/base/strings.h"
#include "tests/worker/data/data_files.h"
#include "tools/data/generate.h"
#include "tools/data/inspect.h"
#include "worker/data/synthetic.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class WeirData : public data::DataFilesTest {
 protected:
  // What inspect prints of a file that has rows.
  static std::string Inspected(const std::string& path, int64_t line_limit = 0) {
    std::ostringstream out;
    const Status status = Inspect(path, line_limit, out);
    EXPECT_TRUE(status.ok()) << status;
    return out.str();
  }

  std::ostringstream out_;
};

TEST_F(WeirData, GenerateWritesRowsThatInspectFindsWellFormed) {
  const v1::Config config = data::SyntheticConfig(500, 300);
  const GenerateOptions options = {Path("rows.tsv.gz"), data::Split::kTest, 0};
  ASSERT_TRUE(Generate(config, options, out_).ok());
  const double bayes = data::BayesLogloss(config.data().synthetic(), data::Split::kTest, 300);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("rows           300\n"),
                                HasSubstr("Bayes logloss  " + Format("%.5f", bayes))));
  EXPECT_THAT(Inspected(options.out),
              AllOf(HasSubstr("rows        300\n"), HasSubstr("malformed   0\n")));
}

TEST_F(WeirData, GenerateStopsAtTheRowLimit) {
  const v1::Config config = data::SyntheticConfig(500, 300);
  ASSERT_TRUE(Generate(config, {Path("rows.tsv"), data::Split::kTrain, 40}, out_).ok());
  EXPECT_THAT(Inspected(Path("rows.tsv")), HasSubstr("rows        40\n"));
}

TEST_F(WeirData, GenerateLeavesNothingWhenItIsInterrupted) {
  const std::atomic<bool> interrupted = true;
  const GenerateOptions options = {Path("rows.tsv"), data::Split::kTrain, 40, &interrupted};
  EXPECT_EQ(Generate(data::SyntheticConfig(500, 300), options, out_).code(),
            StatusCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(options.out));
  EXPECT_FALSE(std::filesystem::exists(StrCat(options.out, ".partial-", getpid())));
}

TEST_F(WeirData, InspectRefusesOtherEncodings) {
  std::ofstream(Path("utf16.csv"), std::ios::binary) << std::string(
      "\xff\xfe"
      "a\0,\0b\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      16);
  EXPECT_THAT(Inspect(Path("utf16.csv"), 0, out_).message(),
              HasSubstr("the first line is not UTF-8"));
}

TEST_F(WeirData, InspectTellsOfLinesOfAnotherEncoding) {
  std::ofstream file(Path("latin.csv"), std::ios::binary);
  file << "label,city\n0,Bonn\n";
  for (int i = 0; i < 20; ++i) file << "1,K\xf6ln\n0,Bonn\n";
  file.close();
  ASSERT_TRUE(Inspect(Path("latin.csv"), 0, out_).ok());
  EXPECT_THAT(out_.str(), HasSubstr("20 of 42 lines are not UTF-8, which readers refuse, line 3"));
}

TEST_F(WeirData, GenerateRefusesWhatACriteoLogCannotHold) {
  v1::Config config = data::SyntheticConfig(10, 0);
  config.mutable_data()->mutable_synthetic()->set_tables(3);
  const GenerateOptions options = {Path("rows.tsv"), data::Split::kTrain, 0};
  EXPECT_EQ(Generate(config, options, out_).code(), StatusCode::kInvalidConfig);
  EXPECT_EQ(Generate(data::CriteoConfig({}), options, out_).code(), StatusCode::kInvalidConfig);
  const v1::Config no_test_rows = data::SyntheticConfig(10, 0);
  EXPECT_EQ(Generate(no_test_rows, {options.out, data::Split::kTest, 0}, out_).code(),
            StatusCode::kInvalidConfig);
  EXPECT_FALSE(std::filesystem::exists(options.out));
}

TEST_F(WeirData, InspectSummarisesEachColumn) {
  const std::string tail(24, '\t');
  std::string text;
  text += "1\t-3\t" + std::string(12, '\t') + "a\t7" + tail + "\n";
  text += "0\t7\t" + std::string(12, '\t') + "b\t7" + tail + "\n";
  text += "0\t\t" + std::string(12, '\t') + "a\t" + tail + "\n";
  text += "0\t2\t" + std::string(12, '\t') + "c\t7" + tail + "\n";
  const std::string printed = Inspected(Write("f", text));
  EXPECT_THAT(printed, HasSubstr("click rate  0.2500\n"));
  EXPECT_THAT(printed, ContainsRegex("I1 +25.00 % +-3 +7 +2.00\n"));
  EXPECT_THAT(printed, ContainsRegex("I2 +100.00 %\n"));
  EXPECT_THAT(printed, ContainsRegex("C1 +0.00 % +3\n"));
  EXPECT_THAT(printed, ContainsRegex("C2 +25.00 % +1\n"));
  EXPECT_THAT(printed, ContainsRegex("C26 +100.00 % +0\n"));
}

TEST_F(WeirData, InspectCountsMalformedLinesAndDescribesTheFirst) {
  const auto path = Write("f", data::CriteoLine(1) + "\n" + std::string(7, '\n'));
  EXPECT_THAT(Inspected(path), AllOf(HasSubstr("rows        1\nmalformed   7\n"),
                                     HasSubstr(path + ":2: empty line\n"),
                                     HasSubstr(path + ":6: empty line\nclick rate")));
  EXPECT_THAT(Inspected(path, 3), HasSubstr("rows        1\nmalformed   2\n"));
}

TEST_F(WeirData, InspectTakesAHeaderWithOneColumnWithoutAName) {
  const std::string printed = Inspected(Write("f", ",age,paid\n0,31,1\n1,28,0\n2,40,1\n"));
  EXPECT_THAT(printed, AllOf(HasSubstr("delimiter ',', with a header"), HasSubstr("(no name"),
                             HasSubstr("column: \"age\""), Not(HasSubstr("column: \"\""))));
  EXPECT_THAT(Inspected(Write("f", "age,paid,\n31,1,\n28,0,\n")),
              AllOf(HasSubstr("with a header"), HasSubstr("column: \"age\"")));
}

TEST_F(WeirData, InspectTakesSpacesForADelimiterOnlyWhereThereIsNoOther) {
  EXPECT_THAT(Inspected(Write("f", "a , b ,label\n1 , 2 ,0\n3 , 4 ,1\n")),
              HasSubstr("delimiter ',', with a header"));
  EXPECT_THAT(Inspected(Write("f", "a b label\n1 2 0\n3 4 1\n")),
              HasSubstr("delimiter ' ', with a header"));
}

TEST_F(WeirData, InspectCountsTheFieldsOfLibffmBetweenTabs) {
  EXPECT_THAT(Inspected(Write("f", "1\t0:1:1\t1:5:1\n0\t0:2:1\t2:5:1 # of 9\n")),
              AllOf(HasSubstr("format      libffm"), HasSubstr("fields: 3")));
}

TEST_F(WeirData, InspectTakesTimesOfDayForNoLibsvm) {
  for (const char* text : {"0,2014-10-05 10:20:30,5,7\n1,2014-10-05 10:20:31,6,8\n",
                           "0,2014-10-05 10:20,5,7\n1,2014-10-06 11:20,6,8\n",
                           "y,ts\n0,2014-10-05 10:20\n1,2014-10-06 11:20\n"}) {
    EXPECT_THAT(Inspected(Write("f", text)), HasSubstr("format      comma-separated")) << text;
  }
  EXPECT_THAT(Inspected(Write("f", "-1 3:1\n+1\n1 2:0.5\n")), HasSubstr("format      libsvm"));
}

TEST_F(WeirData, InspectFailsOnAFileWithoutARow) {
  const Status wrong = Inspect(Write("f", "hello\n"), 0, out_);
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidData);
  EXPECT_THAT(wrong.message(), HasSubstr("f has no two columns"));
  EXPECT_EQ(Inspect(Path("gone"), 0, out_).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weir::tools
