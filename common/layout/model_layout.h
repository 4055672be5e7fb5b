// What a model consists of, as a pure function of the config: tensors, tables, pieces, and who
// serves which. Servers and workers derive it independently and must agree (hello compares hashes).
//
// A dense tensor is cut into pieces of whole stripes; each piece goes to the server that has the
// fewest elements so far, of such the first. Initial values are a function of (seed, tensor,
// index), so nothing depends on the server count.
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

// Elements of a stripe: the unit of residual locking and of wire coding.
inline constexpr int64_t kStripeElements = 4096;
// Stripes of a piece: the unit of ownership by one strand of one server. Each has a frame of its
// own in a push: where 1 % of elements are sent, the 23 bytes of its heads are 0.14 bits of each.
inline constexpr int64_t kPieceStripes = 32;

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

// A range of one tensor, owned by one server.
struct PieceSpec {
  uint32_t id = 0;
  uint32_t tensor = 0;
  int64_t begin = 0;  // first element in the tensor; a multiple of kStripeElements
  int64_t element_count = 0;
  uint32_t server = 0;
};

// Layers [begin, end) of an MLP.
struct LayerRange {
  size_t begin = 0, end = 0;

  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

// A part of the model between two splits (pipeline.split), or all of it.
struct StageSpec {
  LayerRange bottom, top;
  bool has_interaction = false;  // between the two
  int64_t input_width = 0;       // of what the stage before gives; dense features of the first
  int64_t output_width = 0;      // 1, the logit, of the last
  // Tensors [first, end) are this stage's.
  uint32_t first_tensor = 0, end_tensor = 0;

  // Whether it begins with the dense features.
  bool reads_dense() const { return first_tensor == 0 && !bottom.empty(); }
};

class ModelLayout {
 public:
  // config: with defaults filled in and valid. server_count >= 1.
  ModelLayout(const v1::Config& config, uint32_t server_count);

  std::span<const TensorSpec> tensors() const { return tensors_; }
  std::span<const TableSpec> tables() const { return tables_; }
  std::span<const PieceSpec> pieces() const { return pieces_; }
  uint32_t server_count() const { return server_count_; }
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

  // What the config says of the splits between stages.
  const v1::PipelineConfig& pipeline() const { return pipeline_; }
  // At least one, in the order of forward; one more than splits.
  std::span<const StageSpec> stages() const { return stages_; }
  // All of them in one.
  StageSpec whole() const;

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

  std::span<const PieceSpec> tensor_pieces(uint32_t tensor) const;

 private:
  void AddMlp(const std::string& name, int64_t input_width, std::span<const int32_t> widths,
              std::vector<uint32_t>& weights);
  void AddTensor(std::string name, int64_t row_count, int64_t column_count, double deviation);
  void CutStages();
  void CutPieces();

  v1::ModelConfig model_;
  v1::PipelineConfig pipeline_;
  uint32_t server_count_;
  int32_t dense_feature_count_;
  int32_t embedding_dimension_;
  uint64_t seed_;
  int64_t flat_element_count_ = 0;
  int64_t dense_element_count_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<TableSpec> tables_;
  std::vector<PieceSpec> pieces_;
  std::vector<uint32_t> first_piece_;  // per tensor, and one past the last
  std::vector<StageSpec> stages_;
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

// Initial value of one element of a dense tensor.
float InitialDenseValue(uint64_t seed, const TensorSpec& tensor, int64_t index);

// Initial values of one row, uniform in +-1/sqrt(rows of the table), as in facebookresearch/dlrm.
void InitialRowValues(uint64_t seed, const TableSpec& table, uint64_t id, std::span<float> row);

// Server and row partition of a row. Independent hashes, so partitions are even within a server.
uint32_t RowServer(uint32_t table, uint64_t id, uint32_t server_count);
uint32_t RowPartition(uint32_t table, uint64_t id, uint32_t partition_count);

}  // namespace weir
