// Steps in rounds: what the config is with them, and what is wrong with it.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/config/config_hash.h"
#include "common/config/defaults.h"
#include "common/config/validate_config.h"
#include "common/config/validate_consistency.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Config WithConsistency(const std::string& text) {
  v1::Config config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "data { synthetic {} } update { dense { sgd { learning_rate: 0.1 } } rows { sgd { "
      "learning_rate: 0.1 } } } " +
          text,
      &config));
  FillDefaults(&config);
  return config;
}

TEST(Consistency, IsAsyncUnlessTheConfigSaysSo) {
  const v1::Config config = WithConsistency("");
  EXPECT_TRUE(config.consistency().has_async());
  EXPECT_EQ(config.cluster().window(), 4);
}

// So that rounds can be laid over any config.
TEST(Consistency, RoundsHaveNothingAheadOfThem) {
  const v1::Config config = WithConsistency(
      "consistency { sync {} } cluster { window: 8 prefetch_batches: 3 max_concurrency: 2 }");
  EXPECT_THAT(ValidateConfig(config), IsEmpty());
  EXPECT_EQ(config.cluster().window(), 1);
  EXPECT_EQ(config.cluster().prefetch_batches(), 0);
  EXPECT_EQ(config.cluster().concurrency_warmup_steps(), 0);
  EXPECT_EQ(config.cluster().max_concurrency(), 0);
  EXPECT_EQ(config.consistency().sync().trainers(), 1);
  EXPECT_EQ(config.consistency().sync().lost_trainer(), v1::GO_ON);
}

TEST(Consistency, MistakesAreTold) {
  EXPECT_THAT(ValidateConfig(WithConsistency("consistency { sync { trainers: 0 } }")),
              ElementsAre(HasSubstr("consistency.sync.trainers")));
  EXPECT_THAT(ValidateConfig(WithConsistency("consistency { sync { trainers: 4097 } }")),
              ElementsAre(HasSubstr("consistency.sync.trainers")));
  EXPECT_THAT(ValidateConfig(
                  WithConsistency("consistency { sync {} } pipeline { split { after: 'top/0' } }")),
              ElementsAre(HasSubstr("a model in stages has no rounds")));
  EXPECT_THAT(ValidateConfig(WithConsistency(
                  "consistency { sync {} } compression { row_cache { rows: 10 } }")),
              ElementsAre(HasSubstr("compression.row_cache.rows: with consistency.sync")));
  EXPECT_THAT(ValidateEmbedded(WithConsistency("consistency { sync {} }")),
              ElementsAre(HasSubstr("consistency.sync: rounds are what servers make")));
}

TEST(Consistency, ATrainerInRoundsHasOneThread) {
  const v1::Config sync = WithConsistency("consistency { sync {} }");
  EXPECT_THAT(ValidateThreads(sync, 1), IsEmpty());
  EXPECT_THAT(ValidateThreads(sync, 2), ElementsAre(HasSubstr("--threads")));
  EXPECT_THAT(ValidateThreads(WithConsistency(""), 2), IsEmpty());
}

TEST(Consistency, ProcessesMustAgreeOnIt) {
  const RunHashes sync = HashRun(WithConsistency("consistency { sync {} }"));
  EXPECT_THAT(DescribeMismatch(sync, HashRun(WithConsistency(""))), HasSubstr("consistency"));
  EXPECT_EQ(
      DescribeMismatch(sync, HashRun(WithConsistency("consistency { sync { trainers: 7 } }"))), "");
}

}  // namespace
}  // namespace weir::config
