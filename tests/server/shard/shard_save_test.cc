// What a shard writes down of a model whose stages have taken different numbers of steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/saved_model/manifest.h"
#include "common/saved_model/writer.h"
#include "common/store/row_table.h"
#include "server/shard/shard.h"
#include "tests/server/server_test_support.h"
#include "tests/server/shard/shard_cut_support.h"
#include "tests/server/shard/step_support.h"

namespace weir::server {
namespace {

constexpr uint32_t kTable = 1;
constexpr uint64_t kTouched = 4, kUntouched = 9;
constexpr uint64_t kStepsOfFirst = 40, kStepsOfRows = 10;

// Weights and rows fade in every step, so it shows how many steps a parameter has rested.
v1::Config FadingConfig() {
  v1::Config config = TinyConfig();
  config.mutable_pipeline()->add_split()->set_after("bottom/0");
  config.mutable_update()->mutable_dense()->set_weight_decay(0.01);
  config.mutable_update()->mutable_rows()->set_weight_decay(0.1);
  config::FillDefaults(&config);
  return config;
}

class StagedShard {
 public:
  explicit StagedShard(const v1::Config& config)
      : layout_(config, 1), shard_(config, layout_, 0, &outbox_) {}

  void Push(uint32_t stage, std::vector<Bytes> body = {}) {
    shard_.Post(MakeStep(shard_, {std::move(body)}, 0, stage).value());
    shard_.WaitIdle();
    CHECK(outbox_.TakeAll().steps[0]->answers[0].status.ok());
  }

  // An answer without a push.
  void Answer(uint32_t stage) {
    auto pending = std::make_shared<PendingStep>();
    pending->stage = stage;
    pending->answers.emplace_back();
    shard_.Post(std::move(pending));
    shard_.WaitIdle();
    outbox_.TakeAll();
  }

  std::vector<float> Row(uint64_t id) {
    auto pending = std::make_shared<PendingRows>();
    pending->read_only = true;
    CHECK(shard_.PostRows(pending, MakeParts({}, {RowIdsFrame(kTable, {id})})).ok());
    shard_.WaitIdle();
    outbox_.TakeAll();
    return ValuesOf(*pending);
  }

  // The first element of the first piece of a tensor, which gets a gradient first.
  float ElementAfterGradient(uint32_t tensor, uint32_t stage) {
    const PieceSpec& piece = layout_.tensor_pieces(tensor)[0];
    Push(stage, {GradientFrame(piece, 0, {0}, {1})});
    const auto& strands = shard_.dense_strands();
    const auto found = std::ranges::find_if(strands, [&](const auto& strand) {
      const PieceSpec& spec = strand->piece().spec();
      return spec.tensor == tensor && spec.begin == 0;
    });
    return (*found)->piece().values()[0];
  }

  Status Save(const v1::Config& config, const std::string& folder) {
    WEIR_ASSIGN_OR_RETURN(const auto writer, saved_model::Writer::Create(folder));
    v1::SavedModelManifest manifest;
    *manifest.mutable_config() = config;
    const WrittenCut cut = CutReader(&shard_, CutForm::kModel).ReadAll();
    WEIR_RETURN_IF_ERROR(cut.status);
    for (const Bytes& section : cut.sections) WEIR_RETURN_IF_ERROR(writer->Append(section));
    manifest.set_steps(cut.steps);
    manifest.set_row_steps(shard_.row_version());
    return writer->Finish(std::move(manifest));
  }

  const ModelLayout& layout() const { return layout_; }
  Shard& shard() { return shard_; }

 private:
  const ModelLayout layout_;
  Outbox outbox_{[] {}};
  Shard shard_;
};

class ShardSave : public testing::Test {
 protected:
  ShardSave() {
    std::string pattern = testing::TempDir() + "weir_shard_XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~ShardSave() override { std::filesystem::remove_all(directory_); }

  // The first stage has taken four times as many steps as the one with the rows.
  void SetUp() override {
    for (uint64_t step = 1; step <= kStepsOfFirst; ++step) {
      std::vector<Bytes> dense, rows;
      if (step == 1) {
        dense.push_back(GradientFrame(trained_.layout().pieces()[0], 0, {0}, {1}));
        rows.push_back(RowGradientsFrame(kTable, {kTouched}, 2));
      }
      trained_.Push(0, std::move(dense));
      if (step <= kStepsOfRows) trained_.Push(1, std::move(rows));
    }
    const Status saved = trained_.Save(config_, directory_ + "/model");
    ASSERT_TRUE(saved.ok()) << saved;
    auto model = saved_model::SavedModel::Open(directory_ + "/model");
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  const v1::Config config_ = FadingConfig();
  std::string directory_;
  StagedShard trained_{config_};
  std::unique_ptr<saved_model::SavedModel> model_;
};

TEST_F(ShardSave, RowsAreReadAsTheRunReadThem) {
  EXPECT_EQ(model_->manifest().steps(), kStepsOfFirst);
  const uint64_t row_steps = saved_model::RowSteps(model_->manifest());
  EXPECT_EQ(row_steps, kStepsOfRows);
  const auto rule = store::MakeUpdateRule(config_.update().rows());
  store::RowPartitionStore rows(model_->layout(), *rule);
  rule->BeginAfter(model_->manifest().rule_starts().rows());
  rows.StartAt(model_->manifest().rule_starts().untouched_rows());
  const auto load = [&](const saved_model::SavedRows& saved) {
    std::vector<float> row(saved.row_floats);
    for (size_t i = 0; i < saved.ids.size(); ++i) {
      saved.CopyRow(i, row);
      rows.Load(saved.table, saved.ids[i], std::span(row).first(kDimension),
                std::span(row).subspan(kDimension));
    }
  };
  const Status visited =
      model_->Visit({.piece = [](const saved_model::SavedPiece&) {}, .rows = load});
  ASSERT_TRUE(visited.ok()) << visited;
  for (const uint64_t id : {kTouched, kUntouched}) {
    std::vector<float> read(kDimension);
    rows.ReadOrInitial(kTable, id, row_steps, read);
    EXPECT_EQ(read, trained_.Row(id)) << id;
  }
}

// It would take the place of a model that is of use.
TEST_F(ShardSave, AModelThatIsNotFiniteIsNone) {
  StagedShard diverged(config_);
  const PieceSpec& piece = diverged.layout().pieces()[0];
  for (int i = 0; i < 3; ++i) diverged.Push(0, {GradientFrame(piece, 0, {7}, {3e38f})});
  const Status saved = diverged.Save(config_, directory_ + "/model");
  EXPECT_EQ(saved.code(), StatusCode::kInvalidData);
  EXPECT_THAT(saved.message(),
              testing::HasSubstr("bottom/0/weight has a value that is NaN or inf"));
  EXPECT_TRUE(saved_model::SavedModel::Open(directory_ + "/model").ok())
      << "the one that was there";
}

// Its stripes do not know yet which step they are of.
TEST_F(ShardSave, AnAnswerWithoutAPushIsNoStepOfAModelThatWasTakenOver) {
  const v1::Config config = MovingConfig();
  StagedShard first(config), next(config);
  first.Push(0, {GradientFrame(first.layout().pieces()[0], 0, {7}, {1})});
  ASSERT_TRUE(first.Save(config, directory_ + "/moving").ok());
  const auto model = saved_model::SavedModel::Open(directory_ + "/moving");
  ASSERT_TRUE(model.ok()) << model.status();
  LoadProgress progress;
  ASSERT_TRUE(next.shard().Load(**model, config, &progress).ok());
  next.Answer(0);
  const auto value = [](StagedShard& of) {
    return of.shard().dense_strands()[0]->piece().values()[7];
  };
  EXPECT_EQ(value(next), value(first));
}

TEST_F(ShardSave, LoadingEndsWhenNobodyWantsItAnyMore) {
  StagedShard next(config_);
  LoadProgress progress;
  progress.Cancel();
  EXPECT_EQ(next.shard().Load(*model_, config_, &progress).code(), StatusCode::kInterrupted);
  EXPECT_LT(progress.ToProto().done_bytes(), model_->manifest().parameter_bytes());
}

TEST_F(ShardSave, ARunThatGoesOnFindsEverythingAsItWas) {
  StagedShard next(config_);
  LoadProgress progress;
  ASSERT_TRUE(next.shard().Load(*model_, config_, &progress).ok());
  EXPECT_EQ(progress.ToProto().done_bytes(), model_->manifest().parameter_bytes());
  for (const uint32_t stage : {0u, 1u}) EXPECT_EQ(next.shard().version(stage), kStepsOfFirst);
  EXPECT_EQ(next.shard().rule_starts().untouched_rows(), kStepsOfFirst - kStepsOfRows);
  for (const uint64_t id : {kTouched, kUntouched}) {
    const std::vector<float> before = trained_.Row(id), after = next.Row(id);
    for (size_t i = 0; i < kDimension; ++i) EXPECT_FLOAT_EQ(after[i], before[i]) << id;
  }
  const auto stages = next.layout().stages();
  for (uint32_t stage = 0; stage < stages.size(); ++stage) {
    const uint32_t tensor = stages[stage].end_tensor - 1;  // its last
    EXPECT_FLOAT_EQ(next.ElementAfterGradient(tensor, stage),
                    trained_.ElementAfterGradient(tensor, stage))
        << "rested as long as it had, stage " << stage;
  }
}

}  // namespace
}  // namespace weir::server
