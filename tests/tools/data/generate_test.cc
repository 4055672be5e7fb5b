#include "tools/data/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <sstream>

#include "common/base/strings.h"
#include "tests/tools/data/inspect_support.h"
#include "worker/data/synthetic.h"

namespace weir::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Generating : public InspectTest {
 protected:
  std::ostringstream out_;
};

TEST_F(Generating, WritesRowsThatInspectFindsWellFormed) {
  const v1::Config config = data::SyntheticConfig(500, 300);
  const GenerateOptions options = {Path("rows.tsv.gz"), data::Split::kTest, 0};
  ASSERT_TRUE(Generate(config, options, out_).ok());
  const double bayes = data::BayesLogloss(config.data().synthetic(), data::Split::kTest, 300);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("rows           300\n"),
                                HasSubstr("Bayes logloss  " + Format("%.5f", bayes))));
  EXPECT_THAT(Inspected(options.out),
              AllOf(HasSubstr("rows        300\n"), HasSubstr("malformed   0\n")));
}

TEST_F(Generating, StopsAtTheRowLimit) {
  const v1::Config config = data::SyntheticConfig(500, 300);
  ASSERT_TRUE(Generate(config, {Path("rows.tsv"), data::Split::kTrain, 40}, out_).ok());
  EXPECT_THAT(Inspected(Path("rows.tsv")), HasSubstr("rows        40\n"));
}

TEST_F(Generating, LeavesNothingWhenItIsInterrupted) {
  const std::atomic<bool> interrupted = true;
  const GenerateOptions options = {Path("rows.tsv"), data::Split::kTrain, 40, &interrupted};
  EXPECT_EQ(Generate(data::SyntheticConfig(500, 300), options, out_).code(),
            StatusCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(options.out));
  EXPECT_FALSE(std::filesystem::exists(StrCat(options.out, ".partial-", getpid())));
}

TEST_F(Generating, RefusesWhatACriteoLogCannotHold) {
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

}  // namespace
}  // namespace weir::tools
