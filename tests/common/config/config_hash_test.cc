#include "common/config/config_hash.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/config/defaults.h"
#include "common/config/load_config.h"

namespace weir::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::Config Changed(const std::string& change) {
  const auto config =
      LoadConfig({}, "data { train: \"a\" criteo_tsv {} } compression { default { none {} } }");
  EXPECT_TRUE(config.ok()) << config.status();
  v1::Config changed = *config;
  v1::Config changes;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(change, &changes));
  changed.MergeFrom(changes);
  FillDefaults(&changed);
  return changed;
}

std::string Mismatch(const std::string& change) {
  return DescribeMismatch(HashRun(Changed("")), HashRun(Changed(change)));
}

TEST(HashRun, IgnoresWhatProcessesMayDisagreeAbout) {
  EXPECT_EQ(Mismatch(""), "");
  EXPECT_EQ(Mismatch("data { root: \"/elsewhere\" max_malformed_share: 0.5 }"), "");
  EXPECT_EQ(Mismatch("cluster { window: 1 row_partitions: 2 server_threads: 2 }"), "");
  EXPECT_EQ(Mismatch("compression { default { dct { sparsity: 0.9 } } }"), "");
  EXPECT_EQ(Mismatch("data { batch_size: 256 chunk_batches: 16 }"), "");
  EXPECT_EQ(Mismatch("run { report_interval_ms: 1 }"), "");
}

TEST(HashRun, TellsTheModelsApart) {
  const auto is_model = AllOf(HasSubstr("the model"), Not(HasSubstr("reader")));
  EXPECT_THAT(Mismatch("model { embedding_dimension: 8 }"), is_model);
  EXPECT_THAT(Mismatch("model { top_widths: 1 }"), is_model);
  EXPECT_THAT(Mismatch("model { precision: BF16 }"), is_model);
  EXPECT_THAT(Mismatch("run { seed: 2 }"), is_model);
}

TEST(HashRun, TellsReadersUpdateRulesStagesAndLeasesApart) {
  EXPECT_THAT(Mismatch("data { criteo_tsv { rows_per_table: 7 } }"), HasSubstr("the reader"));
  EXPECT_THAT(Mismatch("data { synthetic {} }"), HasSubstr("the reader"));
  EXPECT_NE(HashRun(Changed("data { synthetic {} }")).data,
            HashRun(Changed("data { synthetic { teacher { waves: 0.5 } } }")).data);
  EXPECT_THAT(Mismatch("update { rows { rowwise_adagrad { epsilon: 1 } } }"),
              HasSubstr("the update rules"));
  EXPECT_THAT(Mismatch("data { batch_size: 256 }"), HasSubstr("lent"));
  EXPECT_THAT(Mismatch("data { test: \"b\" }"), HasSubstr("lent"));
  EXPECT_EQ(Mismatch("data { train: \"b\" }"), "") << "a pattern may match as many files as a list";
  EXPECT_THAT(Mismatch("cluster { max_message_bytes: 2000000 }"), HasSubstr("max_message_bytes"))
      << "a message that one may send and the other may not take gets lost";
  EXPECT_THAT(Mismatch("pipeline { split { after: \"top/1\" } }"), HasSubstr("the stages"));
  EXPECT_THAT(Mismatch("data { epochs: 2 } run { seed: 2 }"),
              AllOf(HasSubstr("lent"), HasSubstr("the model")));
}

TEST(ConfigHash, CoversEveryField) {
  const std::string base = ConfigHash(Changed(""));
  EXPECT_THAT(base, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(base.size(), 16u);
  EXPECT_EQ(base, ConfigHash(Changed("")));
  EXPECT_NE(base, ConfigHash(Changed("cluster { window: 1 }")));
  EXPECT_NE(base, ConfigHash(Changed("data { root: \"/elsewhere\" }")));
}

}  // namespace
}  // namespace weir::config
