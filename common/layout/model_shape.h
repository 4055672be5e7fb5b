// What a model consists of, as a pure function of the config: tensors of the MLPs, where each lies
// in the flat buffer of all, and embedding tables. Who has which of them, and which process
// computes with what, is decided elsewhere (placement.h, stage_cut.h).
//
// Place in the life of a batch: none; it is the map that every other part reads.
// Thread rule: immutable after construction, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/proto/config.pb.h"

namespace weir {

// One weight or bias of an MLP.
struct TensorSpec {
  uint32_t id = 0;
  std::string name;           // "bottom/0/weight"
  int64_t row_count = 0;      // outputs of the layer
  int64_t column_count = 0;   // inputs of the layer; 1 for a bias
  double init_deviation = 0;  // of the normal distribution of the initial values; 0: they are 0
  int64_t offset = 0;         // first element in the flat buffer of all dense parameters

  int64_t element_count() const { return row_count * column_count; }
};

// One categorical feature's embedding table.
struct TableSpec {
  uint32_t id = 0;
  std::string name;       // "C1"; the layer name is "table/C1"
  int64_t row_count = 0;  // size of the id space
};

class ModelShape {
 public:
  // config: with defaults filled in and valid.
  explicit ModelShape(const v1::Config& config);

  std::span<const TensorSpec> tensors() const { return tensors_; }
  std::span<const TableSpec> tables() const { return tables_; }
  int32_t dense_feature_count() const { return dense_feature_count_; }
  int32_t embedding_dimension() const { return embedding_dimension_; }
  uint64_t seed() const { return seed_; }

  // Layers of the MLPs, as indexes of their weight in tensors(); the bias follows its weight.
  std::span<const uint32_t> bottom_weights() const { return bottom_weights_; }
  std::span<const uint32_t> top_weights() const { return top_weights_; }

  // What follows each of these layers; the last of the top MLP is linear, its output is the logit.
  std::span<const v1::ModelConfig::Activation> bottom_activations() const {
    return bottom_activations_;
  }
  std::span<const v1::ModelConfig::Activation> top_activations() const { return top_activations_; }

  // The rest of the model's structure, as the config has it; without dense features there is no
  // bottom MLP.
  const v1::ModelConfig& model() const { return model_; }
  bool has_bottom() const { return dense_feature_count_ > 0; }
  // Vectors that interact: the bottom MLP's output and a row of each table.
  int64_t vector_count() const { return std::ssize(tables_) + (has_bottom() ? 1 : 0); }
  // Width of the top MLP's input.
  int64_t interaction_width() const;

  // Length of the flat buffer that TensorSpec::offset points into (tensors are 64-byte aligned).
  int64_t flat_element_count() const { return flat_element_count_; }
  // Sum of the tensors' elements.
  int64_t dense_element_count() const { return dense_element_count_; }

 private:
  void AddMlp(const std::string& name, int64_t input_width, std::span<const int32_t> widths,
              std::vector<uint32_t>& weights);
  void AddTensor(std::string name, int64_t row_count, int64_t column_count, double deviation);

  v1::ModelConfig model_;
  int32_t dense_feature_count_;
  int32_t embedding_dimension_;
  uint64_t seed_;
  int64_t flat_element_count_ = 0;
  int64_t dense_element_count_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<TableSpec> tables_;
  std::vector<uint32_t> bottom_weights_;
  std::vector<uint32_t> top_weights_;
  std::vector<v1::ModelConfig::Activation> bottom_activations_, top_activations_;
};

// A layer by name: bottom/1, top/0.
struct LayerName {
  bool is_top = false;
  size_t index = 0;
};
// Nothing when it is no such name.
std::optional<LayerName> ParseLayerName(std::string_view name);

// Dense features of the reader that the config chose.
int32_t DenseFeatureCount(const v1::DataConfig& data);

}  // namespace weir
