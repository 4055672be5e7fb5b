#include "tests/simulation/run_config.h"

#include <initializer_list>

#include "tests/server/server_test_support.h"

namespace weir::simulation {
namespace {

// Layers of a size, so that of each stage every server has one; and splits among them.
void CutIntoStages(const Mix& mix, v1::Config* config) {
  v1::ModelConfig& model = *config->mutable_model();
  model.clear_bottom_widths();
  model.clear_top_widths();
  for (const int32_t width : {32, 32, 32, 32, 32, 32, 4}) model.add_bottom_widths(width);
  for (const int32_t width : {32, 32, 32, 32, 32, 32, 1}) model.add_top_widths(width);
  v1::PipelineConfig& pipeline = *config->mutable_pipeline();
  if (mix.splits_bottom) pipeline.add_split()->set_after("bottom/3");
  if (mix.splits_top) pipeline.add_split()->set_after("top/2");
  pipeline.set_in_flight(mix.in_flight);
  // A batch that is lost between stages is missed after so long; and a stage is given up that is
  // away for longer than storms have it.
  config->mutable_cluster()->set_answer_timeout_ms(25'000);
  config->mutable_cluster()->set_member_timeout_ms(12'000);
}

void SetRows(const Mix& mix, v1::DataConfig* data) {
  data->set_chunk_batches(static_cast<int32_t>(mix.chunk_batches));
  data->mutable_synthetic()->set_rows(kBatchRows * mix.chunk_batches * mix.chunks);
  const uint64_t test_rows = kBatchRows * mix.chunk_batches * mix.test_chunks;
  data->mutable_synthetic()->set_test_rows(static_cast<int64_t>(test_rows));
  data->clear_train_rows();
}

}  // namespace

v1::Config ConfigOf(const Mix& mix) {
  v1::Config config = server::TinyConfig();
  config.mutable_model()->clear_bottom_widths();
  for (const int32_t width : {64, 32, 4}) config.mutable_model()->add_bottom_widths(width);
  if (mix.is_in_stages()) CutIntoStages(mix, &config);
  config.mutable_run()->set_evaluate_every_samples(
      static_cast<int64_t>(kBatchRows * mix.evaluate_every));
  SetRows(mix, config.mutable_data());
  v1::ClusterConfig& cluster = *config.mutable_cluster();
  const bool syncs = mix.machines_end && mix.plant != Plant::kNothingSynced;
  cluster.set_durability(syncs ? v1::MACHINE : v1::PROCESS);
  cluster.set_commit_interval_ms(mix.commit_ms);
  if (mix.in_rounds) {
    config.mutable_consistency()->mutable_sync()->set_trainers(static_cast<int32_t>(mix.trainers));
  }
  config::FillDefaults(&config);
  const auto mistakes = config::ValidateConfig(config);
  CHECK(mistakes.empty()) << mistakes.front();
  return config;
}

}  // namespace weir::simulation
