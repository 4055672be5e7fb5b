// Steps in rounds: what the config is with them, and what is wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/config/config_hash.h"
#include "common/config/validate_config.h"
#include "common/config/validate_consistency.h"
#include "tests/common/config/section.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Consistency, IsAsyncUnlessTheConfigSaysSo) {
  const v1::Config config = WithSection("");
  EXPECT_TRUE(config.consistency().has_async());
  EXPECT_EQ(config.cluster().window(), 4);
}

// So that rounds can be laid over any config.
TEST(Consistency, RoundsHaveNothingAheadOfThem) {
  const v1::Config config = WithSection(
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
  EXPECT_THAT(ValidateConfig(WithSection("consistency { sync { trainers: 0 } }")),
              ElementsAre(HasSubstr("consistency.sync.trainers")));
  EXPECT_THAT(ValidateConfig(WithSection("consistency { sync { trainers: 4097 } }")),
              ElementsAre(HasSubstr("consistency.sync.trainers")));
  EXPECT_THAT(
      ValidateConfig(WithSection("consistency { sync {} } pipeline { split { after: 'top/0' } }")),
      ElementsAre(HasSubstr("a model in stages has no rounds")));
  EXPECT_THAT(
      ValidateConfig(WithSection("consistency { sync {} } compression { row_cache { rows: 10 } }")),
      ElementsAre(HasSubstr("compression.row_cache.rows: with consistency.sync")));
  EXPECT_THAT(ValidateEmbedded(WithSection("consistency { sync {} }")),
              ElementsAre(HasSubstr("consistency.sync: rounds are what servers make")));
}

TEST(Consistency, ATrainerInRoundsHasOneThread) {
  const v1::Config sync = WithSection("consistency { sync {} }");
  EXPECT_THAT(ValidateThreads(sync, 1), IsEmpty());
  EXPECT_THAT(ValidateThreads(sync, 2), ElementsAre(HasSubstr("--threads")));
  EXPECT_THAT(ValidateThreads(WithSection(""), 2), IsEmpty());
}

TEST(Consistency, ProcessesMustAgreeOnIt) {
  const RunHashes sync = HashRun(WithSection("consistency { sync {} }"));
  EXPECT_THAT(DescribeMismatch(sync, HashRun(WithSection(""))), HasSubstr("consistency"));
  EXPECT_EQ(DescribeMismatch(sync, HashRun(WithSection("consistency { sync { trainers: 7 } }"))),
            "");
}

}  // namespace
}  // namespace weir::config
