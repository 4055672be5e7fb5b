// The section `schedule`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "google/protobuf/text_format.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Config WithSchedule(const std::string& text) {
  v1::Config config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "data { synthetic {} } update { dense { sgd { learning_rate: 0.1 } } rows { sgd { "
      "learning_rate: 0.1 } } } " +
          text,
      &config));
  FillDefaults(&config);
  return config;
}

TEST(ScheduleSection, IsSingleUnlessTheConfigSaysSo) {
  EXPECT_TRUE(WithSchedule("").schedule().has_single());
  const v1::Config by_bytes = WithSchedule("schedule { by_bytes {} }");
  EXPECT_EQ(by_bytes.schedule().by_bytes().bytes(), 32768);
  EXPECT_THAT(ValidateConfig(by_bytes), IsEmpty());
}

TEST(ScheduleSection, MistakesAreTold) {
  EXPECT_THAT(ValidateConfig(WithSchedule("schedule { by_bytes { bytes: 0 } }")),
              ElementsAre(HasSubstr("schedule.by_bytes.bytes")));
  v1::Config clipped = WithSchedule("schedule { immediate {} }");
  clipped.mutable_update()->mutable_dense()->set_clip_norm(1);
  EXPECT_THAT(ValidateConfig(clipped),
              ElementsAre(HasSubstr("schedule: update.dense.clip_norm needs all gradients")));
}

}  // namespace
}  // namespace weir::config
