#include "common/config/validate_config.h"

#include <limits>
#include <span>

#include "common/config/defaults.h"
#include "common/config/policy_rules.h"
#include "common/config/validate_compression.h"
#include "common/config/validate_consistency.h"
#include "common/config/validate_pipeline.h"
#include "common/config/validate_reader.h"
#include "common/config/validate_schedule.h"
#include "common/config/validate_update.h"
#include "common/config/violations.h"
#include "common/layout/model_layout.h"

namespace weir::config {
namespace {

constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int32_t kMaxWidth = 65'536;
constexpr int64_t kMaxChunkLines = int64_t{1} << 24;
constexpr int64_t kMaxChunkBytes = int64_t{8} << 30;
constexpr int64_t kMinMessageBytes = int64_t{1} << 20;
constexpr int64_t kMaxMessageBytes = int64_t{1} << 40;  // beyond any memory; sums of it fit
// Frames name the first element of a piece with 32 bits.
constexpr int64_t kMaxTensorElements = (int64_t{1} << 32) - 1;
// Three of a trainer's heartbeats, one a second: below, a late one would count as its death.
constexpr int32_t kMinMemberTimeoutMs = 3000;

void ValidateWidths(const std::string& path, const google::protobuf::RepeatedField<int32_t>& widths,
                    Violations* violations) {
  for (int i = 0; i < widths.size(); ++i) {
    violations->RequireRange(StrCat(path, "[", i, "]"), widths[i], 1, kMaxWidth);
  }
}

void ValidateBottom(const v1::ModelConfig& model, bool has_dense_features, Violations* violations) {
  if (!has_dense_features) {
    if (model.bottom_widths().empty()) return;
    return violations->Add("model.bottom_widths", "gives the data without dense features an MLP; ",
                           "leave it out");
  }
  const int32_t output = *model.bottom_widths().rbegin();
  if (output == model.embedding_dimension()) return;
  violations->Add("model.bottom_widths", "the last width, ", output,
                  ", differs from model.embedding_dimension, ", model.embedding_dimension(),
                  "; the interaction needs them equal");
}

void ValidateActivations(const std::string& path,
                         const google::protobuf::RepeatedField<int>& activations, int layer_count,
                         Violations* violations) {
  for (int i = 0; i < activations.size(); ++i) {
    if (v1::ModelConfig::Activation_IsValid(activations[i]) &&
        activations[i] != v1::ModelConfig::ACTIVATION_UNSPECIFIED) {
      continue;
    }
    violations->Add(StrCat(path, "[", i, "]"), "unknown value ", activations[i],
                    "; choose RELU, SIGMOID or LINEAR");
  }
  if (activations.size() == 1 || activations.size() == layer_count) return;
  violations->Add(path, "has ", activations.size(), " values for ", layer_count,
                  " layers; give one for each, or one for all");
}

void ValidateLoss(const v1::WeightedBceLoss& loss, Violations* violations) {
  constexpr double kMost = 1e6;
  const auto require = [&](const char* field, double weight) {
    const std::string path = StrCat("model.loss.weighted_bce.", field);
    if (!(weight > 0 && weight <= kMost)) {
      violations->Add(path, weight, " is out of range; choose from above 0 to ", kMost);
    }
  };
  require("positive_weight", loss.positive_weight());
  require("negative_weight", loss.negative_weight());
}

void ValidateModel(const v1::Config& config, Violations* violations) {
  const v1::ModelConfig& model = config.model();
  ValidateWidths("model.bottom_widths", model.bottom_widths(), violations);
  ValidateWidths("model.top_widths", model.top_widths(), violations);
  violations->RequireRange("model.embedding_dimension", model.embedding_dimension(), 1, 4096);
  ValidateBottom(model, HasDenseFeatures(config.data()), violations);
  if (const int32_t top_output = *model.top_widths().rbegin(); top_output != 1) {
    violations->Add("model.top_widths", "the last width is ", top_output,
                    "; the top MLP ends in one logit, so make it 1");
  }
  if (!v1::ModelConfig::Precision_IsValid(model.precision())) {
    violations->Add("model.precision", "unknown value ", model.precision(),
                    "; choose F32, BF16 or TF32");
  }
  if (!v1::ModelConfig::Interaction_IsValid(model.interaction())) {
    violations->Add("model.interaction", "unknown value ", model.interaction(),
                    "; choose DOT, DOT_WITH_SELF or CAT");
  }
  ValidateActivations("model.bottom_activations", model.bottom_activations(),
                      model.bottom_widths_size(), violations);
  ValidateActivations("model.top_activations", model.top_activations(), model.top_widths_size() - 1,
                      violations);
  if (model.loss().has_weighted_bce()) ValidateLoss(model.loss().weighted_bce(), violations);
}

// Reader and number of rows are valid. A row of a chunk is a label, dense features and ids.
void ValidateChunkBytes(const v1::Config& config, Violations* violations) {
  const ModelLayout layout(config, 1);
  const int64_t row_bytes =
      4 * (1 + int64_t{layout.dense_feature_count()}) + 8 * std::ssize(layout.tables());
  const v1::DataConfig& data = config.data();
  const int64_t bytes = int64_t{data.batch_size()} * data.chunk_batches() * row_bytes;
  if (bytes <= kMaxChunkBytes) return;
  violations->Add("data.chunk_batches", "a chunk of ", data.chunk_batches(), " batches of ",
                  data.batch_size(), " has ", bytes,
                  " bytes, which a worker holds in memory; at most ", kMaxChunkBytes,
                  " are allowed");
}

// Widths and reader are valid.
void ValidateTensorSizes(const v1::Config& config, Violations* violations) {
  const ModelLayout layout(config, 1);
  const auto require_small = [&](const std::string& path, std::span<const uint32_t> weights) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const TensorSpec& tensor = layout.tensors()[weights[i]];
      if (tensor.element_count() <= kMaxTensorElements) continue;
      violations->Add(StrCat(path, "[", i, "]"), tensor.name, " would have ", tensor.row_count,
                      " x ", tensor.column_count, " elements; at most ", kMaxTensorElements,
                      " are allowed, so choose smaller widths");
    }
  };
  require_small("model.bottom_widths", layout.bottom_weights());
  require_small("model.top_widths", layout.top_weights());
}

void ValidateFileNames(const std::string& path,
                       const google::protobuf::RepeatedPtrField<std::string>& names,
                       Violations* violations) {
  for (int i = 0; i < names.size(); ++i) {
    if (names[i].empty()) violations->Add(StrCat(path, "[", i, "]"), "is empty; name a file");
  }
}

void ValidateData(const v1::DataConfig& data, Violations* violations) {
  ValidateFileNames("data.train", data.train(), violations);
  ValidateFileNames("data.test", data.test(), violations);
  violations->RequireRange("data.batch_size", data.batch_size(), 1, 65'536);
  violations->RequireRange("data.epochs", data.epochs(), 1, kMaxInt32);
  violations->RequireRange("data.chunk_batches", data.chunk_batches(), 1, kMaxInt32);
  violations->RequireRange("data.train_rows", data.train_rows(), 0, int64_t{1} << 40);
  violations->RequireRange("data.max_malformed_share", data.max_malformed_share(), 0, 1);
  const int64_t chunk_lines = int64_t{data.batch_size()} * data.chunk_batches();
  if (data.batch_size() >= 1 && chunk_lines > kMaxChunkLines) {
    violations->Add("data.chunk_batches", "a chunk of ", data.chunk_batches(), " batches of ",
                    data.batch_size(), " has ", chunk_lines,
                    " rows, which a worker holds in memory; at most ", kMaxChunkLines,
                    " are allowed");
  }
}

void ValidateConcurrency(const v1::ClusterConfig& cluster, Violations* violations) {
  violations->RequireRange("cluster.window", cluster.window(), 1, 64);
  violations->RequireRange("cluster.concurrency_warmup_steps", cluster.concurrency_warmup_steps(),
                           0, 1'000'000);
  violations->RequireRange("cluster.max_concurrency", cluster.max_concurrency(), 0, 1'000'000);
  violations->RequireRange("cluster.prefetch_batches", cluster.prefetch_batches(), 0, 16);
}

void ValidateDurability(const v1::ClusterConfig& cluster, Violations* violations) {
  if (!v1::Durability_IsValid(cluster.durability())) {
    violations->Add("cluster.durability", "unknown value ", cluster.durability(),
                    "; choose NONE, PROCESS or MACHINE");
  }
  violations->RequireRange("cluster.commit_interval_ms", cluster.commit_interval_ms(), 1, 10'000);
}

void ValidateCluster(const v1::ClusterConfig& cluster, Violations* violations) {
  ValidateConcurrency(cluster, violations);
  if (!v1::ValueCoding_IsValid(cluster.row_values())) {
    violations->Add("cluster.row_values", "unknown value ", cluster.row_values(),
                    "; choose F32 or BF16");
  }
  if (!v1::ValueCoding_IsValid(cluster.answer_values())) {
    violations->Add("cluster.answer_values", "unknown value ", cluster.answer_values(),
                    "; choose F32 or BF16");
  }
  ValidateDurability(cluster, violations);
  violations->RequireRange("cluster.server_threads", cluster.server_threads(), 1, 64);
  violations->RequireRange("cluster.row_partitions", cluster.row_partitions(), 1,
                           kMaxRowPartitions);
  violations->RequireRange("cluster.connect_timeout_ms", cluster.connect_timeout_ms(), 1,
                           kMaxInt32);
  violations->RequireRange("cluster.answer_timeout_ms", cluster.answer_timeout_ms(), 1, kMaxInt32);
  violations->RequireRange("cluster.join_timeout_ms", cluster.join_timeout_ms(), 1, kMaxInt32);
  violations->RequireRange("cluster.member_timeout_ms", cluster.member_timeout_ms(),
                           kMinMemberTimeoutMs, kMaxInt32);
  violations->RequireRange("cluster.max_message_bytes", cluster.max_message_bytes(),
                           kMinMessageBytes, kMaxMessageBytes);
  violations->RequireRange("cluster.max_unacknowledged_bytes", cluster.max_unacknowledged_bytes(),
                           kMinMessageBytes, kMaxMessageBytes);
}

void ValidateRun(const v1::RunConfig& run, const v1::DataConfig& data, Violations* violations) {
  violations->RequireRange("run.evaluate_every_samples", run.evaluate_every_samples(), 0,
                           std::numeric_limits<int64_t>::max());
  const bool has_test =
      data.has_synthetic() ? data.synthetic().test_rows() != 0 : data.test_size() > 0;
  if (run.evaluate_every_samples() > 0 && !has_test) {
    violations->Add("run.evaluate_every_samples",
                    "there are no test rows to evaluate on; name files in data.test, or set it "
                    "to 0");
  }
  violations->RequireRange("run.report_interval_ms", run.report_interval_ms(), 1, kMaxInt32);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  violations->RequireRange("run.checkpoint_every_samples", run.checkpoint_every_samples(), 0,
                           kMost);
  violations->RequireRange("run.checkpoint_every_ms", run.checkpoint_every_ms(), 0, kMost);
  violations->RequireRange("run.keep", run.keep(), 1, kMaxInt32);
}

void ForbidBound(const char* path, const v1::UpdateRule& rule, Violations* violations) {
  if (rule.max_push_norm() == 0) return;
  violations->Add(
      StrCat(path, ".max_push_norm"),
      "bounds what servers take of a trainer's push and there are none; give --servers, "
      "or remove it (clip_norm bounds a step's gradients)");
}

}  // namespace

std::vector<std::string> ValidateConfig(const v1::Config& config) {
  Violations violations;
  // A layout is cut only at layers that are there, so the rest is looked at in one stage.
  v1::Config whole = config;
  whole.clear_pipeline();
  ValidateModel(whole, &violations);
  ValidateReader(whole.data(), &violations);
  const bool layers_known = violations.size() == 0;
  if (layers_known) ValidateTensorSizes(whole, &violations);
  const size_t before_data = violations.size();
  ValidateData(whole.data(), &violations);
  if (layers_known && violations.size() == before_data) ValidateChunkBytes(whole, &violations);
  ValidateCompression(whole, layers_known, &violations);
  ValidateUpdate(whole.update(), &violations);
  ValidateCluster(whole.cluster(), &violations);
  ValidateConsistency(config, &violations);
  ValidateSchedule(config, &violations);
  ValidateRun(whole.run(), whole.data(), &violations);
  ValidatePipeline(config, &violations);
  return violations.Take();
}

std::vector<std::string> ValidateEmbedded(const v1::Config& config) {
  Violations violations;
  const auto require_none = [&](const std::string& path, const v1::PolicyRule& rule) {
    if (rule.has_none() && rule.values() == v1::BF16) {
      violations.Add(path + ".values",
                     "BF16 is how pushes travel to servers, and there are none; "
                     "give --servers, or remove it");
    }
    if (rule.has_none()) return;
    violations.Add(path, PolicyName(rule),
                   " chooses what is pushed to servers and there are none; give --servers, or "
                   "write none {}");
  };
  require_none("compression.default", config.compression().default_());
  for (int i = 0; i < config.compression().layer_size(); ++i) {
    require_none(StrCat("compression.layer[", i, "]"), config.compression().layer(i));
  }
  if (config.compression().row_cache().rows() > 0) {
    violations.Add(
        "compression.row_cache.rows",
        "keeps rows that were pulled from servers and there are none; give --servers, or "
        "remove it");
  }
  const auto require_f32 = [&](const char* path, v1::ValueCoding values) {
    if (values != v1::BF16) return;
    violations.Add(path,
                   "BF16 is how servers answer and there are none; give --servers, or remove it");
  };
  require_f32("cluster.answer_values", config.cluster().answer_values());
  require_f32("cluster.row_values", config.cluster().row_values());
  ForbidBound("update.dense", config.update().dense(), &violations);
  ForbidBound("update.rows", config.update().rows(), &violations);
  const v1::ScheduleConfig& schedule = config.schedule();
  if (!schedule.has_single() && schedule.kind_case() != v1::ScheduleConfig::KIND_NOT_SET) {
    violations.Add("schedule",
                   "says how layers leave for servers and there are none; give --servers, or "
                   "remove it");
  }
  if (config.consistency().has_sync()) {
    violations.Add("consistency.sync",
                   "rounds are what servers make of several trainers' pushes and there are none; "
                   "give --servers, or remove it");
  }
  return violations.Take();
}

std::vector<std::string> ValidateStage(const v1::Config& config, int stage) {
  Violations violations;
  const int last = config.pipeline().split_size();
  if (stage < 0) return {};
  if (last == 0) {
    violations.Add("--stage", "the config has no pipeline.split, so the model is one stage; leave ",
                   "it out");
  } else if (stage > last) {
    violations.Add("--stage", "there is no stage ", stage, ": pipeline.split makes stages 0 to ",
                   last);
  }
  if (config.update().dense().clip_norm() > 0) {
    violations.Add("update.dense.clip_norm",
                   "is of the gradient of all layers, which no stage has; remove it, or run all "
                   "stages in each worker");
  }
  return violations.Take();
}

}  // namespace weir::config
