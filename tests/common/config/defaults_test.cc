#include "common/config/defaults.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/strings.h"
#include "common/config/validate_config.h"

namespace weir::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Required, or with a zero that means what it says.
constexpr auto kWithoutDefault = std::to_array<std::string_view>({
    "weir.v1.SgdRule.learning_rate",
    "weir.v1.AdagradRule.learning_rate",
    "weir.v1.MomentumRule.learning_rate",
    "weir.v1.AdamRule.learning_rate",
    "weir.v1.StepDecay.every",
    "weir.v1.PolynomialDecay.steps",
    "weir.v1.CosineDecay.steps",
    "weir.v1.DctPolicy.sparsity",
    "weir.v1.TopKPolicy.sparsity",
    "weir.v1.RandomKPolicy.sparsity",
    "weir.v1.DeftPolicy.sparsity",
    "weir.v1.ExdynaPolicy.sparsity",
    "weir.v1.CltKPolicy.sparsity",
    "weir.v1.UnionTopKPolicy.sparsity",
    "weir.v1.UnionHardThresholdPolicy.threshold",
    "weir.v1.SidcoPolicy.sparsity",
    "weir.v1.HardThresholdPolicy.threshold",
    "weir.v1.StromPolicy.threshold",
    "weir.v1.HybridPolicy.threshold",
    "weir.v1.LazyRowsPolicy.threshold",
    "weir.v1.LazyRowsPolicy.alpha",
    "weir.v1.PolicyRule.match",
    "weir.v1.PipelineConfig.split",
    "weir.v1.SplitConfig.after",
    "weir.v1.DctMpPolicy.sparsity",
    "weir.v1.RandomKSplitPolicy.sparsity",
    "weir.v1.GaussianSketchPolicy.compression",
    "weir.v1.TopKGradientPolicy.sparsity",
    "weir.v1.DataConfig.root",
    "weir.v1.DataConfig.train",
    "weir.v1.DataConfig.test",
    "weir.v1.CompressionConfig.layer",
    "weir.v1.CsvConfig.dense",
    "weir.v1.CsvConfig.categorical",
    "weir.v1.CsvConfig.missing",
    "weir.v1.CsvLabel.column",
    "weir.v1.ModelConfig.bottom_widths",  // data without dense features has no bottom MLP
});

// Adds the full name of every field of the message tree that has neither a value nor an excuse.
void CollectUnset(const Message& message, std::set<std::string>* unset) {
  const auto& reflection = *message.GetReflection();
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->real_containing_oneof() == nullptr &&
        std::ranges::find(kWithoutDefault, field->full_name()) == kWithoutDefault.end()) {
      const bool is_set = field->is_repeated() ? reflection.FieldSize(message, field) > 0
                                               : reflection.HasField(message, field);
      if (!is_set) unset->insert(field->full_name());
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      for (int k = 0; k < reflection.FieldSize(message, field); ++k) {
        CollectUnset(reflection.GetRepeatedMessage(message, field, k), unset);
      }
    } else if (reflection.HasField(message, field)) {
      CollectUnset(reflection.GetMessage(message, field), unset);
    }
  }
}

std::set<std::string> UnsetAfterDefaults(v1::Config config) {
  FillDefaults(&config);
  std::set<std::string> unset;
  CollectUnset(config, &unset);
  return unset;
}

// Calls `use` once for each member of the message's only oneof, with that member chosen.
template <typename Use>
void ForEachChoice(Message* message, Use use) {
  const auto* choice = message->GetDescriptor()->oneof_decl(0);
  ASSERT_GT(choice->field_count(), 1);
  for (int i = 0; i < choice->field_count(); ++i) {
    message->GetReflection()->MutableMessage(message, choice->field(i));
    SCOPED_TRACE(choice->field(i)->full_name());
    use();
  }
}

TEST(FillDefaults, SetsEveryFieldOfEveryChoice) {
  v1::Config config;
  v1::PolicyRule* layer = config.mutable_compression()->add_layer();
  ForEachChoice(config.mutable_data(), [&] {
    ForEachChoice(layer, [&] {
      ForEachChoice(config.mutable_update()->mutable_rows(), [&] {
        ForEachChoice(config.mutable_update()->mutable_rows()->mutable_schedule(),
                      [&] { EXPECT_THAT(UnsetAfterDefaults(config), testing::IsEmpty()); });
      });
    });
  });
}

TEST(FillDefaults, SetsEveryFieldOfEverySplitPolicy) {
  v1::Config config;
  ForEachChoice(config.mutable_pipeline()->add_split(),
                [&] { EXPECT_THAT(UnsetAfterDefaults(config), testing::IsEmpty()); });
}

TEST(FillDefaults, IsAValidConfigOnceAReaderIsChosen) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic();
  FillDefaults(&config);
  EXPECT_THAT(ValidateConfig(config), testing::IsEmpty());
}

TEST(FillDefaults, ChangesNothingTheSecondTime) {
  v1::Config config;
  FillDefaults(&config);
  v1::Config twice = config;
  FillDefaults(&twice);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(config, twice));
}

TEST(FillDefaults, KeepsWhatIsSetEvenToZero) {
  v1::Config config;
  config.mutable_cluster()->set_prefetch_batches(0);
  config.mutable_run()->set_seed(0);
  config.mutable_compression()->mutable_default_()->mutable_dct()->set_controller(false);
  FillDefaults(&config);
  EXPECT_EQ(config.cluster().prefetch_batches(), 0);
  EXPECT_EQ(config.run().seed(), 0u);
  EXPECT_FALSE(config.compression().default_().dct().controller());
}

int64_t WarmupOf(const v1::UpdateRule& dense) {
  v1::Config config;
  *config.mutable_update()->mutable_dense() = dense;
  *config.mutable_update()->mutable_rows() = dense;
  FillDefaults(&config);
  EXPECT_EQ(config.update().rows().schedule().warmup_steps(),
            dense.schedule().warmup_steps());  // rows have no layers to lose
  const v1::LearningRateSchedule& schedule = config.update().dense().schedule();
  EXPECT_GE(schedule.decay_start(), schedule.warmup_steps());
  return schedule.warmup_steps();
}

TEST(FillDefaults, AdagradOfTheMlpsWarmsUpUnlessItIsToldNotTo) {
  v1::Config config;
  FillDefaults(&config);
  EXPECT_EQ(config.data().batch_size(), 128);
  EXPECT_EQ(config.update().dense().schedule().warmup_steps(), 200);
  v1::UpdateRule rule;
  rule.mutable_sgd();
  EXPECT_EQ(WarmupOf(rule), 0);
  rule.mutable_adagrad();
  EXPECT_EQ(WarmupOf(rule), 200);
  rule.mutable_schedule()->set_decay_start(50);
  EXPECT_EQ(WarmupOf(rule), 50);
  rule.mutable_schedule()->set_decay_start(500);
  EXPECT_EQ(WarmupOf(rule), 200);
  rule.mutable_schedule()->set_warmup_steps(0);
  EXPECT_EQ(WarmupOf(rule), 0);
}

TEST(FillDefaults, WarmsUpOverAsManySamplesWhateverTheBatch) {
  for (const auto& [batch_size, steps] :
       {std::pair{1, 25'600}, {512, 50}, {2048, 13}, {65'536, 1}, {0, 25'600}, {-1, 25'600}}) {
    v1::Config config;
    config.mutable_data()->set_batch_size(batch_size);
    FillDefaults(&config);
    EXPECT_EQ(config.update().dense().schedule().warmup_steps(), steps) << batch_size;
  }
}

TEST(FillDefaults, WarmsUpForATenthOfARunAtMostWhereItsRowsAreKnown) {
  struct Case {
    int64_t rows;
    int32_t epochs, batch_size;
    int64_t steps;
  };
  for (const Case& each :
       {Case{0, 1, 128, 200},  // not known
        Case{256'000, 1, 128, 200}, Case{20'000, 1, 128, 16}, Case{20'000, 5, 128, 79},
        Case{20'000, 100, 128, 200}, Case{20'000, 1, 64, 32}, Case{9, 1, 128, 0},
        Case{11, 1, 128, 1}, Case{int64_t{1} << 62, 2'000'000'000, 128, 200}, Case{-5, 1, 128, 200},
        Case{20'000, -1, 128, 16}}) {
    v1::Config config;
    config.mutable_data()->set_train_rows(each.rows);
    config.mutable_data()->set_epochs(each.epochs);
    config.mutable_data()->set_batch_size(each.batch_size);
    FillDefaults(&config);
    EXPECT_EQ(config.update().dense().schedule().warmup_steps(), each.steps)
        << each.rows << " rows, " << each.epochs << " epochs of batches of " << each.batch_size;
  }
}

TEST(FillDefaults, KnowsTheRowsOfSyntheticData) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->set_rows(20'000);
  FillDefaults(&config);
  EXPECT_EQ(config.data().train_rows(), 20'000);
  EXPECT_EQ(config.update().dense().schedule().warmup_steps(), 16);
}

TEST(FillDefaults, FillsTheSharesOfATeacherThatNamesOne) {
  v1::Config config;
  config.mutable_data()->mutable_synthetic()->mutable_teacher()->set_waves(2);
  FillDefaults(&config);
  const v1::TeacherConfig& teacher = config.data().synthetic().teacher();
  EXPECT_EQ(teacher.waves(), 2);
  EXPECT_EQ(teacher.linear(), 0.62);
  EXPECT_EQ(teacher.pairwise(), 0.15);
  EXPECT_EQ(teacher.gated(), 0.08);
}

TEST(RowsThatMatter, AreThoseFromWhichOnTheDefaultsAreTheSame) {
  for (const int32_t epochs : {0, 1, 3, 10, 1'000'000}) {
    v1::Config config;
    config.mutable_data()->set_epochs(epochs);
    const int64_t rows = RowsThatMatter(config.data());
    const auto warmup = [&](int64_t train_rows) {
      v1::Config filled = config;
      filled.mutable_data()->set_train_rows(train_rows);
      filled.mutable_data()->set_batch_size(1);
      FillDefaults(&filled);
      return filled.update().dense().schedule().warmup_steps();
    };
    EXPECT_EQ(warmup(rows), warmup(int64_t{1} << 40)) << epochs;
    EXPECT_EQ(warmup(rows - 1) < warmup(rows), rows > 1) << epochs;  // without any, not known
  }
}

TEST(FillDefaults, ChoosesNothingForARuleThatIsWrittenOut) {
  v1::Config config;
  config.mutable_compression()->mutable_default_()->set_values(v1::BF16);
  config.mutable_update()->mutable_dense();
  FillDefaults(&config);
  EXPECT_EQ(config.compression().default_().policy_case(), v1::PolicyRule::POLICY_NOT_SET);
  EXPECT_EQ(config.update().dense().rule_case(), v1::UpdateRule::RULE_NOT_SET);
}

}  // namespace
}  // namespace weir::config
