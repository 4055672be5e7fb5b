#include "tools/local/kill_plan.h"

#include <gmock/gmock.h>

namespace weir::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> MistakesIn(const std::string& text) {
  LocalOptions options;
  options.server_count = 2;
  options.trainer_count = 1;
  options.stage_count = 2;
  options.kill_after = text;
  return KillMistakes(options);
}

TEST(KillPlan, TakesNamesOfTheRunAndTimes) {
  EXPECT_THAT(MistakesIn(""), IsEmpty());
  EXPECT_THAT(MistakesIn("server-1:3000,trainer-0:0,trainer-0-stage-1:86400000"), IsEmpty());
}

TEST(KillPlan, TellsEachMistake) {
  EXPECT_THAT(
      MistakesIn("server-2:1,server-1,server-1:,:5,server-1:-1,server-1:1s,server-1:86400001,,"
                 "trainer-1:5"),
      ElementsAre(HasSubstr("no process server-2"), HasSubstr("\"server-1\" is not NAME:"),
                  HasSubstr("\"server-1:\" is not"), HasSubstr("\":5\" is not"),
                  HasSubstr("\"server-1:-1\" is not"), HasSubstr("\"server-1:1s\" is not"),
                  HasSubstr("\"server-1:86400001\" is not"), HasSubstr("\"\" is not"),
                  HasSubstr("no process trainer-1")));
}

TEST(KillPlan, GivesEachOnceInTheOrderOfTheirTimes) {
  KillPlan plan("server-1:300,trainer-0:100,server-0:300");
  EXPECT_FALSE(plan.next_ms().has_value()) << "the run has not begun";
  plan.Begin(1000);
  EXPECT_EQ(plan.next_ms(), 1100);
  EXPECT_FALSE(plan.TakeDue(1099).has_value());
  const auto first = plan.TakeDue(1100);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->name, "trainer-0");
  EXPECT_FALSE(plan.TakeDue(1100).has_value());
  std::vector<std::string> names;
  while (const auto order = plan.TakeDue(5000)) names.push_back(order->name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("server-0", "server-1"));
  EXPECT_FALSE(plan.next_ms().has_value());
}

TEST(KillPlan, IsEmptyWhenNobodyIsNamed) {
  KillPlan plan;
  plan.Begin(0);
  EXPECT_FALSE(plan.next_ms().has_value());
  EXPECT_FALSE(plan.TakeDue(INT64_MAX).has_value());
}

}  // namespace
}  // namespace weir::tools
