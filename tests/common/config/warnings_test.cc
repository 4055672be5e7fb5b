#include "common/config/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/config/load_config.h"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> WarningsOf(const std::string& text) {
  const auto config = config::LoadConfig({}, text);
  EXPECT_TRUE(config.ok()) << config.status();
  return Warnings(*config);
}

// The chunk is the least that is trained between two of them.
TEST(Warnings, TellWhenEvaluationsAreWantedMoreOftenThanChunksEnd) {
  const std::string data = "data { synthetic {} batch_size: 128 chunk_batches: 32 } ";
  EXPECT_THAT(WarningsOf(data + "run { evaluate_every_samples: 1000 }"),
              ElementsAre(HasSubstr("run.evaluate_every_samples: 1000 is less than a chunk, "
                                    "data.batch_size * data.chunk_batches = 4096 rows")));
  EXPECT_THAT(WarningsOf(data + "run { evaluate_every_samples: 1000 }"),
              ElementsAre(HasSubstr("set data.chunk_batches to 7 or")));
  EXPECT_THAT(WarningsOf(data + "run { evaluate_every_samples: 4096 }"), IsEmpty());
  EXPECT_THAT(WarningsOf(data), IsEmpty());
}

TEST(Warnings, TellOfFilesThatMadeUpDataLeavesUnread) {
  EXPECT_THAT(WarningsOf("data { synthetic {} train: 'a.csv' }"),
              ElementsAre(HasSubstr("data.synthetic makes rows up")));
}

}  // namespace
}  // namespace weir::config
