#include "common/program/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

using testing::HasSubstr;

std::string Complaint(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return CheckCommandLine(static_cast<int>(arguments.size()), arguments.data()).message();
}

TEST(ConfigFlags, MayBeGivenOnce) {
  EXPECT_EQ(Complaint({}), "");
  EXPECT_EQ(Complaint({"--config=a", "-override=b", "--config_of_others", "config", "config"}), "");
  EXPECT_EQ(Complaint({"--config=a", "--", "--config=b"}), "") << "which is no flag";
  EXPECT_EQ(Complaint({"--threads=1", "--threads=2"}), "") << "the last one counts, as usual";
}

TEST(ConfigFlags, AreNamedWhenTheyComeTwice) {
  EXPECT_THAT(Complaint({"--config=a", "--config=a"}), HasSubstr("--config is given 2 times"));
  EXPECT_THAT(Complaint({"--config=a", "-config", "b"}), HasSubstr("--config is given 2 times"));
  const std::string both =
      Complaint({"--config", "a", "--override=1", "--override=2", "--config=b", "--override=3"});
  EXPECT_THAT(both, HasSubstr("--config is given 2 times"));
  EXPECT_THAT(both, HasSubstr("--override is given 3 times"));
}

// As by a variable that is not set: the model would be saved nowhere.
TEST(FolderFlags, AreNamedWhenTheyAreEmpty) {
  EXPECT_THAT(Complaint({"--save="}), HasSubstr("--save is empty"));
  EXPECT_THAT(
      Complaint({"-warm_start", "", "--save_residuals="}),
      testing::AllOf(HasSubstr("--warm_start is empty"), HasSubstr("--save_residuals is empty")));
  EXPECT_EQ(
      Complaint({"--save=m", "--warm_start", "m=", "--save_residuals=a=", "--out=", "--save"}), "");
}

}  // namespace
}  // namespace weir
