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
}

TEST(ScheduleSection, MistakesAreTold) {
  EXPECT_THAT(ValidateConfig(WithSection("schedule { by_bytes { bytes: 0 } }")),
              ElementsAre(HasSubstr("schedule.by_bytes.bytes")));
  v1::Config clipped = WithSection("schedule { immediate {} }");
  clipped.mutable_update()->mutable_dense()->set_clip_norm(1);
  EXPECT_THAT(ValidateConfig(clipped),
              ElementsAre(HasSubstr("schedule: update.dense.clip_norm needs all gradients")));
}

}  // namespace
}  // namespace weir::config
