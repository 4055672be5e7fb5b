#include "common/config/defaults.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "common/layout/model_layout.h"

// Sets an optional field of `message` unless it is set.
#define WEIR_DEFAULT(message, field, value) \
  if (!(message).has_##field()) (message).set_##field(value)

namespace weir::config {
namespace {

// One for all, so that a config with other widths may be laid over this one.
void FillActivations(google::protobuf::RepeatedField<int>& activations) {
  if (activations.empty()) activations.Add(v1::ModelConfig::RELU);
}

void FillLoss(v1::LossConfig& loss) {
  if (loss.loss_case() == v1::LossConfig::LOSS_NOT_SET) loss.mutable_bce();
  if (!loss.has_weighted_bce()) return;
  WEIR_DEFAULT(*loss.mutable_weighted_bce(), positive_weight, 1.0);
  WEIR_DEFAULT(*loss.mutable_weighted_bce(), negative_weight, 1.0);
}

void FillModel(bool has_dense_features, v1::ModelConfig& model) {
  if (model.bottom_widths().empty() && has_dense_features) {
    for (const int32_t width : {512, 256, 64, 16}) model.add_bottom_widths(width);
  }
  if (model.top_widths().empty()) {
    for (const int32_t width : {512, 256, 128, 1}) model.add_top_widths(width);
  }
  WEIR_DEFAULT(model, embedding_dimension, 16);
  if (model.precision() == v1::ModelConfig::PRECISION_UNSPECIFIED) {
    model.set_precision(v1::ModelConfig::F32);
  }
  if (model.interaction() == v1::ModelConfig::INTERACTION_UNSPECIFIED) {
    model.set_interaction(v1::ModelConfig::DOT);
  }
  FillActivations(*model.mutable_bottom_activations());
  FillActivations(*model.mutable_top_activations());
  FillLoss(*model.mutable_loss());
  WEIR_DEFAULT(model, dlrm_initial_values, false);
}

void FillLabels(google::protobuf::RepeatedPtrField<std::string>& labels,
                std::initializer_list<const char*> values) {
  if (!labels.empty()) return;
  for (const char* value : values) *labels.Add() = value;
}

void FillCsv(v1::CsvConfig& csv) {
  WEIR_DEFAULT(csv, delimiter, ",");
  WEIR_DEFAULT(csv, header, true);
  if (csv.quotes() == v1::CsvConfig::QUOTES_UNSPECIFIED) csv.set_quotes(v1::CsvConfig::DOUBLE);
  FillLabels(*csv.mutable_label()->mutable_positive(), {"1"});
  FillLabels(*csv.mutable_label()->mutable_negative(), {"0"});
  for (v1::DenseColumn& column : *csv.mutable_dense()) {
    WEIR_DEFAULT(column, missing, 0.0);
    if (!column.has_log1p()) continue;
    WEIR_DEFAULT(*column.mutable_log1p(), low, 0.0);
    WEIR_DEFAULT(*column.mutable_log1p(), high, 1e30);
  }
  for (v1::CategoricalColumn& column : *csv.mutable_categorical()) {
    WEIR_DEFAULT(column, name, column.column());
    if (column.encoding_case() == v1::CategoricalColumn::ENCODING_NOT_SET) column.mutable_hash();
    WEIR_DEFAULT(column, minimum_frequency, 0);
  }
}

void FillLibsvm(v1::LibsvmConfig& libsvm) {
  WEIR_DEFAULT(libsvm, fields, 0);
  WEIR_DEFAULT(libsvm, rows_per_table, 1'000'000);
  FillLabels(*libsvm.mutable_positive(), {"1", "+1"});
  FillLabels(*libsvm.mutable_negative(), {"0", "-1"});
}

// What two stages cost on made-up rows is about what they cost on the Criteo sample; with most of
// the variance in waves of dense features it was several times as much.
void FillTeacher(v1::TeacherConfig& teacher) {
  WEIR_DEFAULT(teacher, linear, 0.62);
  WEIR_DEFAULT(teacher, pairwise, 0.15);
  WEIR_DEFAULT(teacher, waves, 0.15);
  WEIR_DEFAULT(teacher, gated, 0.08);
}

void FillData(v1::DataConfig& data) {
  WEIR_DEFAULT(data, root, "");
  WEIR_DEFAULT(data, batch_size, 128);
  WEIR_DEFAULT(data, epochs, 1);
  WEIR_DEFAULT(data, chunk_batches, 32);
  WEIR_DEFAULT(data, shuffle, false);
  WEIR_DEFAULT(data, max_malformed_share, 0.001);
  if (data.has_criteo_tsv()) {
    WEIR_DEFAULT(*data.mutable_criteo_tsv(), rows_per_table, 100'000);
  }
  if (data.has_csv()) FillCsv(*data.mutable_csv());
  if (data.has_libsvm()) FillLibsvm(*data.mutable_libsvm());
  if (data.has_synthetic()) {
    v1::SyntheticConfig& synthetic = *data.mutable_synthetic();
    WEIR_DEFAULT(synthetic, rows, 2'000'000);
    WEIR_DEFAULT(synthetic, test_rows, 500'000);
    WEIR_DEFAULT(synthetic, seed, 1);
    WEIR_DEFAULT(synthetic, tables, 26);
    WEIR_DEFAULT(synthetic, dense_features, 13);
    WEIR_DEFAULT(synthetic, rows_per_table, 100'000);
    FillTeacher(*synthetic.mutable_teacher());
  }
  WEIR_DEFAULT(data, train_rows, data.has_synthetic() ? data.synthetic().rows() : 0);
}

void FillCompression(v1::CompressionConfig& compression) {
  if (!compression.has_default_()) compression.mutable_default_()->mutable_none();
  FillDefaults(compression.mutable_default_());
  for (v1::PolicyRule& rule : *compression.mutable_layer()) FillDefaults(&rule);
  v1::RowCacheConfig& cache = *compression.mutable_row_cache();
  WEIR_DEFAULT(cache, rows, 0);
  WEIR_DEFAULT(cache, max_age, 8);
}

void FillAdagrad(v1::AdagradRule& rule) {
  WEIR_DEFAULT(rule, initial_accumulator, 0.0);
  WEIR_DEFAULT(rule, epsilon, 1e-8);
}

void FillSchedule(v1::LearningRateSchedule& schedule) {
  WEIR_DEFAULT(schedule, warmup_steps, 0);
  WEIR_DEFAULT(schedule, decay_start, schedule.warmup_steps());
  if (schedule.has_step()) WEIR_DEFAULT(*schedule.mutable_step(), factor, 0.1);
  if (schedule.has_polynomial()) {
    WEIR_DEFAULT(*schedule.mutable_polynomial(), power, 1.0);
    WEIR_DEFAULT(*schedule.mutable_polynomial(), end, 0.0);
  }
  if (schedule.has_cosine()) WEIR_DEFAULT(*schedule.mutable_cosine(), end, 0.0);
}

// Adagrad's sums start near 0, so its first steps are as long as its learning rate whatever the
// gradients; those of several trainers start from the same values and add up, and as many as one
// run in ten was seen to cut all its ReLUs for good (docs/results/learning.md). Counted in samples,
// because larger batches make fewer steps of the same data; and a short run is not to spend itself
// on its way up.
constexpr int64_t kAdagradWarmupSamples = 25'600;
constexpr int64_t kWarmupsInRun = 10;

int64_t WarmupSamples(const v1::DataConfig& data) {
  constexpr int64_t kMost = kWarmupsInRun * kAdagradWarmupSamples;
  if (data.train_rows() <= 0) return kAdagradWarmupSamples;
  // Neither is validated yet.
  const int64_t samples =
      std::min(data.train_rows(), kMost) * std::clamp<int64_t>(data.epochs(), 1, kMost);
  return std::min(samples, kMost) / kWarmupsInRun;
}

void FillWarmup(const v1::DataConfig& data, v1::LearningRateSchedule& schedule) {
  const int64_t batch = std::max<int64_t>(1, data.batch_size());  // not validated yet
  int64_t steps = (WarmupSamples(data) + batch - 1) / batch;
  if (schedule.has_decay_start()) steps = std::clamp<int64_t>(schedule.decay_start(), 0, steps);
  WEIR_DEFAULT(schedule, warmup_steps, steps);
}

void FillMomentum(v1::MomentumRule& rule) {
  WEIR_DEFAULT(rule, momentum, 0.9);
  WEIR_DEFAULT(rule, nesterov, false);
}

void FillAdam(v1::AdamRule& rule) {
  WEIR_DEFAULT(rule, beta1, 0.9);
  WEIR_DEFAULT(rule, beta2, 0.999);
  WEIR_DEFAULT(rule, epsilon, 1e-8);
}

void FillUpdateRule(v1::UpdateRule& rule) {
  if (rule.has_adagrad()) FillAdagrad(*rule.mutable_adagrad());
  if (rule.has_rowwise_adagrad()) FillAdagrad(*rule.mutable_rowwise_adagrad());
  if (rule.has_momentum()) FillMomentum(*rule.mutable_momentum());
  if (rule.has_adam()) FillAdam(*rule.mutable_adam());
  FillSchedule(*rule.mutable_schedule());
  WEIR_DEFAULT(rule, weight_decay, 0.0);
  WEIR_DEFAULT(rule, clip_norm, 0.0);
  WEIR_DEFAULT(rule, dense_semantics, false);
  WEIR_DEFAULT(rule, l2_penalty, 0.0);
  WEIR_DEFAULT(rule, max_push_norm, 0.0);
}

void FillUpdate(const v1::DataConfig& data, v1::UpdateConfig& update) {
  if (!update.has_dense()) update.mutable_dense()->mutable_adagrad()->set_learning_rate(0.005);
  if (!update.has_rows()) {
    v1::AdagradRule& rows = *update.mutable_rows()->mutable_rowwise_adagrad();
    rows.set_learning_rate(0.03);
    rows.set_initial_accumulator(1e-7);
  }
  if (update.dense().has_adagrad()) {
    FillWarmup(data, *update.mutable_dense()->mutable_schedule());
  }
  FillUpdateRule(*update.mutable_dense());
  FillUpdateRule(*update.mutable_rows());
}

void FillDct(v1::DctPolicy& dct) {
  WEIR_DEFAULT(dct, lifespan, 1000);
  if (dct.start() == v1::DctPolicy::START_UNSPECIFIED) dct.set_start(v1::DctPolicy::DOUBLING);
  WEIR_DEFAULT(dct, controller, true);
  if (dct.drain() == v1::DctPolicy::DRAIN_MODE_UNSPECIFIED) dct.set_drain(v1::DctPolicy::DISCARD);
  WEIR_DEFAULT(dct, drain_period, 1'000'000);
  WEIR_DEFAULT(dct, drain_factor, 0.9);
  WEIR_DEFAULT(dct, one_based_rank, false);
  if (dct.quantile() == v1::DctPolicy::QUANTILE_UNSPECIFIED) {
    dct.set_quantile(v1::DctPolicy::SAMPLED);
  }
}

void FillSidco(v1::SidcoPolicy& sidco) {
  if (sidco.distribution() == v1::SidcoPolicy::DISTRIBUTION_UNSPECIFIED) {
    sidco.set_distribution(v1::SidcoPolicy::EXPONENTIAL);
  }
  WEIR_DEFAULT(sidco, stages, 0);
  WEIR_DEFAULT(sidco, cap_at_largest, true);
  WEIR_DEFAULT(sidco, whole_layer, false);
}

void FillVariance(v1::VariancePolicy& variance) {
  WEIR_DEFAULT(variance, alpha, 1.5);
  WEIR_DEFAULT(variance, decay, 0.999);
  WEIR_DEFAULT(variance, drop_keeps_residual, true);
  WEIR_DEFAULT(variance, quant_error_feedback, false);
  WEIR_DEFAULT(variance, exponent_of_layer, false);
}

void FillHybrid(v1::HybridPolicy& hybrid) {
  WEIR_DEFAULT(hybrid, alpha, 2);
  WEIR_DEFAULT(hybrid, decay, 0.999);
  if (hybrid.correction() == v1::HybridPolicy::CORRECTION_UNSPECIFIED) {
    hybrid.set_correction(v1::HybridPolicy::BEFORE);
  }
}

void FillQsgd(v1::QsgdPolicy& qsgd) {
  WEIR_DEFAULT(qsgd, bits, 4);
  WEIR_DEFAULT(qsgd, bucket, 512);
}

void FillDeft(v1::DeftPolicy& deft) {
  if (deft.dealing() == v1::DeftPolicy::DEALING_UNSPECIFIED) {
    deft.set_dealing(v1::DeftPolicy::UNTIL_ALL_IS_DEALT);
  }
  if (deft.cost() == v1::DeftPolicy::COST_UNSPECIFIED) deft.set_cost(v1::DeftPolicy::ELEMENTS);
}

void FillExdyna(v1::ExdynaPolicy& exdyna) {
  if (exdyna.band() == v1::ExdynaPolicy::BAND_UNSPECIFIED) {
    exdyna.set_band(v1::ExdynaPolicy::SYMMETRIC);
  }
  WEIR_DEFAULT(exdyna, blocks, 1024);
  WEIR_DEFAULT(exdyna, literal_partitions, false);
  if (exdyna.start() == v1::ExdynaPolicy::START_UNSPECIFIED) {
    exdyna.set_start(v1::ExdynaPolicy::QUANTILE);
  }
}

void FillLazyRows(v1::LazyRowsPolicy& lazy) {
  WEIR_DEFAULT(lazy, decay, 0.999);
  WEIR_DEFAULT(lazy, max_age, 100);
  WEIR_DEFAULT(lazy, max_rows, 100'000);
}

void FillConsistency(v1::ConsistencyConfig& consistency) {
  if (consistency.mode_case() == v1::ConsistencyConfig::MODE_NOT_SET) consistency.mutable_async();
  if (!consistency.has_sync()) return;
  v1::SyncConsistency& sync = *consistency.mutable_sync();
  WEIR_DEFAULT(sync, trainers, 1);
  if (sync.lost_trainer() == v1::LOST_TRAINER_UNSPECIFIED) sync.set_lost_trainer(v1::GO_ON);
}

void FillSchedule(v1::ScheduleConfig& schedule) {
  if (schedule.kind_case() == v1::ScheduleConfig::KIND_NOT_SET) schedule.mutable_single();
  if (schedule.has_by_bytes()) WEIR_DEFAULT(*schedule.mutable_by_bytes(), bytes, 32'768);
  if (schedule.has_omgs_greedy()) WEIR_DEFAULT(*schedule.mutable_omgs_greedy(), measured_steps, 20);
  if (schedule.has_omgs()) WEIR_DEFAULT(*schedule.mutable_omgs(), measured_steps, 20);
}

// Whoever waits for all others does nothing ahead of them.
void SetForRounds(v1::ClusterConfig& cluster) {
  cluster.set_window(1);
  cluster.set_prefetch_batches(0);
  cluster.set_concurrency_warmup_steps(0);
  cluster.set_max_concurrency(0);
}

void FillCluster(v1::ClusterConfig& cluster) {
  WEIR_DEFAULT(cluster, window, 4);
  WEIR_DEFAULT(cluster, prefetch_batches, 1);
  WEIR_DEFAULT(cluster, concurrency_warmup_steps, 300);
  WEIR_DEFAULT(cluster, max_concurrency, 0);
  if (cluster.answer_values() == v1::VALUE_CODING_UNSPECIFIED) cluster.set_answer_values(v1::F32);
  if (cluster.row_values() == v1::VALUE_CODING_UNSPECIFIED) cluster.set_row_values(v1::F32);
  WEIR_DEFAULT(cluster, server_threads, 1);
  WEIR_DEFAULT(cluster, row_partitions, 8);
  WEIR_DEFAULT(cluster, connect_timeout_ms, 30'000);
  WEIR_DEFAULT(cluster, answer_timeout_ms, 30'000);
  WEIR_DEFAULT(cluster, join_timeout_ms, 600'000);
  WEIR_DEFAULT(cluster, member_timeout_ms, 15'000);
  WEIR_DEFAULT(cluster, max_message_bytes, int64_t{1} << 30);
  WEIR_DEFAULT(cluster, max_unacknowledged_bytes, int64_t{1} << 28);
  if (cluster.durability() == v1::DURABILITY_UNSPECIFIED) cluster.set_durability(v1::NONE);
  WEIR_DEFAULT(cluster, commit_interval_ms, 10);
}

void FillRun(v1::RunConfig& run) {
  WEIR_DEFAULT(run, seed, 1);
  WEIR_DEFAULT(run, evaluate_every_samples, 0);
  WEIR_DEFAULT(run, report_interval_ms, 2000);
  WEIR_DEFAULT(run, checkpoint_every_samples, 0);
  WEIR_DEFAULT(run, checkpoint_every_ms, 0);
  WEIR_DEFAULT(run, keep, 2);
}

void FillSplit(v1::SplitConfig& split) {
  if (split.policy_case() == v1::SplitConfig::POLICY_NOT_SET) split.mutable_none();
  if (split.values() == v1::VALUE_CODING_UNSPECIFIED) split.set_values(v1::F32);
  if (split.has_dct_mp()) {
    WEIR_DEFAULT(*split.mutable_dct_mp(), measure_only, false);
    WEIR_DEFAULT(*split.mutable_dct_mp(), one_based_rank, false);
  }
  if (split.has_quantize()) WEIR_DEFAULT(*split.mutable_quantize(), bits, 8);
  if (split.has_gaussian_sketch()) {
    WEIR_DEFAULT(*split.mutable_gaussian_sketch(), fixed, false);
    WEIR_DEFAULT(*split.mutable_gaussian_sketch(), exact_adjoint, false);
  }
  if (split.has_top_k_gradient()) {
    WEIR_DEFAULT(*split.mutable_top_k_gradient(), feedback, true);
    WEIR_DEFAULT(*split.mutable_top_k_gradient(), whole_batch, false);
  }
}

}  // namespace

bool GoesByTrainRows(const v1::UpdateConfig& written) {
  if (!written.has_dense()) return true;
  return written.dense().has_adagrad() && !written.dense().schedule().has_warmup_steps();
}

int64_t RowsThatMatter(const v1::DataConfig& data) {
  const int64_t epochs = std::max(1, data.epochs());
  return (kWarmupsInRun * kAdagradWarmupSamples + epochs - 1) / epochs;
}

bool HasDenseFeatures(const v1::DataConfig& data) {
  return !(data.has_csv() || data.has_libsvm()) || DenseFeatureCount(data) > 0;
}

void FillDefaults(v1::PolicyRule* rule) {
  if (rule->values() == v1::VALUE_CODING_UNSPECIFIED) rule->set_values(v1::F32);
  if (rule->has_dct()) FillDct(*rule->mutable_dct());
  if (rule->has_sidco()) FillSidco(*rule->mutable_sidco());
  if (rule->has_variance()) FillVariance(*rule->mutable_variance());
  if (rule->has_hybrid()) FillHybrid(*rule->mutable_hybrid());
  if (rule->has_qsgd()) FillQsgd(*rule->mutable_qsgd());
  if (rule->has_terngrad()) WEIR_DEFAULT(*rule->mutable_terngrad(), clip, 2.5);
  if (rule->has_one_bit()) WEIR_DEFAULT(*rule->mutable_one_bit(), bucket, 512);
  if (rule->has_deft()) FillDeft(*rule->mutable_deft());
  if (rule->has_exdyna()) FillExdyna(*rule->mutable_exdyna());
  if (rule->has_lazy_rows()) FillLazyRows(*rule->mutable_lazy_rows());
}

void FillDefaults(v1::Config* config) {
  FillData(*config->mutable_data());
  FillModel(HasDenseFeatures(config->data()), *config->mutable_model());
  FillCompression(*config->mutable_compression());
  FillUpdate(config->data(), *config->mutable_update());
  FillConsistency(*config->mutable_consistency());
  FillSchedule(*config->mutable_schedule());
  if (config->consistency().has_sync()) SetForRounds(*config->mutable_cluster());
  FillCluster(*config->mutable_cluster());
  FillRun(*config->mutable_run());
  WEIR_DEFAULT(*config->mutable_pipeline(), in_flight, 4);
  for (v1::SplitConfig& split : *config->mutable_pipeline()->mutable_split()) FillSplit(split);
}

}  // namespace weir::config
