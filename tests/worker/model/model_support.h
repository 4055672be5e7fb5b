// What the tests of the model share: layouts of any shape, and random parameters, batches and rows
// that fit them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/random.h"
#include "common/compress/square_sums.h"
#include "common/config/defaults.h"
#include "common/device/cpu_device.h"
#include "common/layout/initial_values.h"
#include "common/layout/model_layout.h"
#include "common/tensor/aligned_buffer.h"
#include "tests/common/kernels/gradient_check.h"
#include "worker/data/batch.h"

namespace weir::test {

struct ModelShape {
  int32_t dense_features = 3;
  int32_t tables = 4;
  int32_t dimension = 4;
  std::vector<int32_t> bottom = {5, 4};
  std::vector<int32_t> top = {6, 1};
  int64_t rows_per_table = 100;
  v1::ModelConfig::Interaction interaction = v1::ModelConfig::DOT;
  v1::ModelConfig::Activation bottom_activation = v1::ModelConfig::RELU;
  v1::ModelConfig::Activation top_activation = v1::ModelConfig::RELU;
  v1::LossConfig loss = {};
  bool lists = false;    // 0 to 3 ids of a table in a row
  bool weights = false;  // of the ids
  v1::PipelineConfig pipeline = {};
};

inline ModelLayout MakeLayout(const ModelShape& shape) {
  v1::Config config;
  config.mutable_model()->mutable_bottom_widths()->Assign(shape.bottom.begin(), shape.bottom.end());
  config.mutable_model()->mutable_top_widths()->Assign(shape.top.begin(), shape.top.end());
  config.mutable_model()->set_embedding_dimension(shape.dimension);
  v1::SyntheticConfig& data = *config.mutable_data()->mutable_synthetic();
  data.set_dense_features(shape.dense_features);
  data.set_tables(shape.tables);
  data.set_rows_per_table(shape.rows_per_table);
  config.mutable_run()->set_seed(1);
  *config.mutable_model()->mutable_loss() = shape.loss;
  config.mutable_model()->set_interaction(shape.interaction);
  config.mutable_model()->add_bottom_activations(shape.bottom_activation);
  config.mutable_model()->add_top_activations(shape.top_activation);
  *config.mutable_pipeline() = shape.pipeline;
  config::FillDefaults(&config);
  // The defaults know no synthetic data without them.
  if (shape.dense_features == 0) config.mutable_model()->clear_bottom_widths();
  return ModelLayout(config, 1);
}

inline size_t FlatSize(const ModelLayout& layout) {
  return static_cast<size_t>(layout.flat_element_count());
}

// Of all tensors, in a flat buffer; with a decay of 0, of the last step alone.
inline compress::SquareSumsOfTensors SquareSumsIn(const ModelLayout& layout,
                                                  std::span<float> squares, float decay = 0) {
  compress::SquareSumsOfTensors sums;
  for (const TensorSpec& tensor : layout.tensors()) {
    sums.push_back({device::OnCpu(squares.subspan(static_cast<size_t>(tensor.offset),
                                                  static_cast<size_t>(tensor.element_count()))),
                    decay});
  }
  return sums;
}

// As a run would start, so that activations keep their scale whatever the depth.
inline tensor::AlignedBuffer InitialParameters(const ModelLayout& layout) {
  tensor::AlignedBuffer parameters(FlatSize(layout));
  for (const TensorSpec& spec : layout.tensors()) {
    for (int64_t i = 0; i < spec.element_count(); ++i) {
      parameters[static_cast<size_t>(spec.offset + i)] = InitialDenseValue(1, spec, i);
    }
  }
  return parameters;
}

// ids are drawn from id_bound values, so a small bound repeats them.
inline data::Batch RandomBatch(const ModelLayout& layout, int32_t row_count, uint64_t id_bound,
                               uint64_t seed, bool lists = false, bool weights = false) {
  data::RowBlock block;
  block.dense_count = layout.dense_feature_count();
  block.table_count = static_cast<int32_t>(layout.tables().size());
  RandomStream stream(seed);
  const auto count = static_cast<size_t>(row_count);
  for (size_t i = 0; i < count; ++i) block.labels.push_back(stream.NextUnit() < 0.5 ? 0.0f : 1.0f);
  block.dense = RandomFloats(count * static_cast<size_t>(block.dense_count), seed);
  for (size_t i = 0; i < count * layout.tables().size(); ++i) {
    const uint64_t id_count = lists ? stream.NextBelow(4) : 1;
    for (uint64_t k = 0; k < id_count; ++k) block.ids.push_back(stream.NextBelow(id_bound));
    if (lists) block.id_ends.push_back(block.ids.size());
  }
  if (weights) block.weights = RandomFloats(block.ids.size(), seed + 1);
  data::Batch batch;
  data::MakeBatch(block, 0, row_count, &batch);
  return batch;
}

inline size_t RowElementCount(const ModelLayout& layout, const data::Batch& batch) {
  size_t unique_count = 0;
  for (const data::TableIds& ids : batch.tables) unique_count += ids.unique.size();
  return unique_count * static_cast<size_t>(layout.embedding_dimension());
}

inline std::vector<float> RandomRows(const ModelLayout& layout, const data::Batch& batch,
                                     uint64_t seed) {
  return RandomFloats(RowElementCount(layout, batch), seed);
}

}  // namespace weir::test
