// The section `schedule`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/config/validate_config.h"
#include "tests/common/config/section.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ScheduleSection, IsSingleUnlessTheConfigSaysSo) {
  EXPECT_TRUE(WithSection("").schedule().has_single());
  const v1::Config by_bytes = WithSection("schedule { by_bytes {} }");
  EXPECT_EQ(by_bytes.schedule().by_bytes().bytes(), 32768);
  EXPECT_THAT(ValidateConfig(by_bytes), IsEmpty());
  EXPECT_EQ(WithSection("schedule { omgs {} }").schedule().omgs().measured_steps(), 20);
  EXPECT_EQ(WithSection("schedule { omgs_greedy {} }").schedule().omgs_greedy().measured_steps(),
            20);
}

TEST(ScheduleSection, MistakesAreTold) {
  EXPECT_THAT(ValidateConfig(WithSection("schedule { by_bytes { bytes: 0 } }")),
              ElementsAre(HasSubstr("schedule.by_bytes.bytes")));
  EXPECT_THAT(ValidateConfig(WithSection("schedule { omgs { measured_steps: 0 } }")),
              ElementsAre(HasSubstr("schedule.omgs.measured_steps")));
  EXPECT_THAT(ValidateConfig(WithSection("schedule { omgs_greedy { measured_steps: 10001 } }")),
              ElementsAre(HasSubstr("schedule.omgs_greedy.measured_steps")));
  v1::Config clipped = WithSection("schedule { immediate {} }");
  clipped.mutable_update()->mutable_dense()->set_clip_norm(1);
  EXPECT_THAT(ValidateConfig(clipped),
              ElementsAre(HasSubstr("schedule: update.dense.clip_norm needs all gradients")));
}

TEST(ScheduleSection, NeedsServers) {
  EXPECT_THAT(ValidateEmbedded(WithSection("schedule { omgs {} }")),
              ElementsAre(HasSubstr("schedule: says how layers leave")));
  EXPECT_THAT(ValidateEmbedded(WithSection("schedule { single {} }")), IsEmpty());
}

}  // namespace
}  // namespace weir::config
