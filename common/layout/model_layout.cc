#include "common/layout/model_layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"

namespace weir {
namespace {

constexpr int64_t kAlignmentElements = 16;  // 64 bytes

struct InputShape {
  int32_t dense_feature_count = 0;
  std::vector<TableSpec> tables;
};

// Tables without names of their own: C1, C2, ...
std::vector<TableSpec> NumberedTables(int32_t count, int64_t row_count) {
  std::vector<TableSpec> tables;
  tables.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    tables.push_back({static_cast<uint32_t>(i), StrCat("C", i + 1), row_count});
  }
  return tables;
}

InputShape CsvShape(const v1::CsvConfig& csv) {
  InputShape shape{csv.dense_size(), {}};
  for (const v1::CategoricalColumn& column : csv.categorical()) {
    shape.tables.push_back(
        {static_cast<uint32_t>(shape.tables.size()), column.name(), column.rows()});
  }
  return shape;
}

InputShape ReadInputShape(const v1::DataConfig& data) {
  switch (data.reader_case()) {
    case v1::DataConfig::kSynthetic: {
      const v1::SyntheticConfig& synthetic = data.synthetic();
      return {synthetic.dense_features(),
              NumberedTables(synthetic.tables(), synthetic.rows_per_table())};
    }
    case v1::DataConfig::kCriteoTsv:
      return {13, NumberedTables(26, data.criteo_tsv().rows_per_table())};
    case v1::DataConfig::kCsv:
      return CsvShape(data.csv());
    case v1::DataConfig::kLibsvm:
      return {0,
              NumberedTables(std::max(1, data.libsvm().fields()), data.libsvm().rows_per_table())};
    case v1::DataConfig::READER_NOT_SET:
      break;
  }
  LOG(FATAL) << "validate_config lets no other reader through";
  return {};
}

// One for all layers, or one for each.
std::vector<v1::ModelConfig::Activation> Activations(
    const google::protobuf::RepeatedField<int>& config, size_t layer_count) {
  std::vector<v1::ModelConfig::Activation> activations(layer_count, v1::ModelConfig::RELU);
  for (size_t i = 0; i < layer_count; ++i) {
    const int number = config.size() == 1 ? 0 : static_cast<int>(i);
    if (number < config.size()) activations[i] = v1::ModelConfig::Activation(config[number]);
  }
  return activations;
}

}  // namespace

ModelLayout::ModelLayout(const v1::Config& config, uint32_t server_count)
    : model_(config.model()),
      pipeline_(config.pipeline()),
      server_count_(server_count),
      embedding_dimension_(config.model().embedding_dimension()),
      seed_(config.run().seed()) {
  CHECK_GE(server_count, 1u);
  InputShape input = ReadInputShape(config.data());
  dense_feature_count_ = input.dense_feature_count;
  tables_ = std::move(input.tables);
  const auto& bottom = config.model().bottom_widths();
  const auto& top = config.model().top_widths();
  AddMlp("bottom", dense_feature_count_,
         std::span(bottom.data(), static_cast<size_t>(bottom.size())), bottom_weights_);
  AddMlp("top", interaction_width(), std::span(top.data(), static_cast<size_t>(top.size())),
         top_weights_);
  // What it begins at moves the logit of every row: with the deviation of the other biases, which
  // is 1 of a single output, the first steps would be spent on its way back.
  if (!top_weights_.empty() && !model_.dlrm_initial_values()) {
    tensors_.back().init_deviation = 0;
  }
  bottom_activations_ = Activations(config.model().bottom_activations(), bottom_weights_.size());
  top_activations_ = Activations(config.model().top_activations(), top_weights_.size());
  if (!top_activations_.empty()) top_activations_.back() = v1::ModelConfig::LINEAR;
  CutStages();
  CutPieces();
}

void ModelLayout::CutStages() {
  const auto tensor_of = [&](size_t layer) {  // counted through both MLPs
    return static_cast<uint32_t>(2 * layer);
  };
  const size_t bottom_count = bottom_weights_.size();
  size_t begin = 0;  // layers counted through both MLPs, like end
  int64_t input_width = dense_feature_count_;
  const auto add = [&](size_t end) {
    StageSpec stage;
    stage.bottom = {std::min(begin, bottom_count), std::min(end, bottom_count)};
    stage.top = {std::max(begin, bottom_count) - bottom_count,
                 std::max(end, bottom_count) - bottom_count};
    stage.has_interaction = stage.top.begin == 0 && !stage.top.empty();
    stage.input_width = input_width;
    stage.first_tensor = tensor_of(begin);
    stage.end_tensor = tensor_of(end);
    stage.output_width = tensors_[stage.end_tensor - 2].row_count;
    stages_.push_back(stage);
    begin = end;
    input_width = stage.output_width;
  };
  for (const v1::SplitConfig& split : pipeline_.split()) {
    const std::optional<LayerName> after = ParseLayerName(split.after());
    CHECK(after) << "validate_config lets no other name through";
    add(after->index + 1 + (after->is_top ? bottom_count : 0));
  }
  add(bottom_count + top_weights_.size());
}

StageSpec ModelLayout::whole() const {
  StageSpec whole;
  whole.bottom = {0, bottom_weights_.size()};
  whole.top = {0, top_weights_.size()};
  whole.has_interaction = true;
  whole.input_width = dense_feature_count_;
  whole.output_width = stages_.back().output_width;
  whole.end_tensor = static_cast<uint32_t>(tensors_.size());
  return whole;
}

void ModelLayout::AddMlp(const std::string& name, int64_t input_width,
                         std::span<const int32_t> widths, std::vector<uint32_t>& weights) {
  for (size_t i = 0; i < widths.size(); ++i) {
    const int64_t width = widths[i];
    const auto fan_in = static_cast<double>(input_width), fan_out = static_cast<double>(width);
    weights.push_back(static_cast<uint32_t>(tensors_.size()));
    AddTensor(StrCat(name, "/", i, "/weight"), width, input_width,
              std::sqrt(2.0 / (fan_in + fan_out)));
    AddTensor(StrCat(name, "/", i, "/bias"), width, 1, std::sqrt(1.0 / fan_out));
    input_width = width;
  }
}

void ModelLayout::AddTensor(std::string name, int64_t row_count, int64_t column_count,
                            double deviation) {
  const auto id = static_cast<uint32_t>(tensors_.size());
  tensors_.push_back(
      {id, std::move(name), row_count, column_count, deviation, flat_element_count_});
  const int64_t elements = row_count * column_count;
  dense_element_count_ += elements;
  flat_element_count_ +=
      (elements + kAlignmentElements - 1) / kAlignmentElements * kAlignmentElements;
}

void ModelLayout::CutPieces() {
  constexpr int64_t kPieceElements = kPieceStripes * kStripeElements;
  std::vector<int64_t> elements_of(server_count_);
  for (const TensorSpec& tensor : tensors_) {
    first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
    for (int64_t begin = 0; begin < tensor.element_count(); begin += kPieceElements) {
      const int64_t count = std::min(kPieceElements, tensor.element_count() - begin);
      const auto lightest = std::ranges::min_element(elements_of);
      *lightest += count;
      pieces_.push_back({static_cast<uint32_t>(pieces_.size()), tensor.id, begin, count,
                         static_cast<uint32_t>(lightest - elements_of.begin())});
    }
  }
  first_piece_.push_back(static_cast<uint32_t>(pieces_.size()));
}

std::span<const PieceSpec> ModelLayout::tensor_pieces(uint32_t tensor) const {
  const uint32_t first = first_piece_[tensor];
  return std::span(pieces_).subspan(first, first_piece_[tensor + 1] - first);
}

int64_t ModelLayout::interaction_width() const {
  const int64_t vectors = vector_count();
  if (model_.interaction() == v1::ModelConfig::CAT) return vectors * embedding_dimension_;
  const int64_t self = model_.interaction() == v1::ModelConfig::DOT_WITH_SELF ? vectors : 0;
  return embedding_dimension_ + vectors * (vectors - 1) / 2 + self;
}

std::optional<LayerName> ParseLayerName(std::string_view name) {
  LayerName layer;
  std::string_view number;
  if (name.starts_with("bottom/")) number = name.substr(7);
  if (name.starts_with("top/")) number = name.substr(4);
  layer.is_top = name.starts_with("top/");
  if (number.size() > 1 && number[0] == '0') return std::nullopt;  // a name is written one way
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, layer.index);
  if (number.empty() || error != std::errc() || rest != end) return std::nullopt;
  return layer;
}

int32_t DenseFeatureCount(const v1::DataConfig& data) {
  return ReadInputShape(data).dense_feature_count;
}

float InitialDenseValue(uint64_t seed, const TensorSpec& tensor, int64_t index) {
  if (tensor.init_deviation == 0) return 0;  // and not -0
  const uint64_t hash = KeyedHash(seed, RunStream::kInitialDense, tensor.id, index);
  return static_cast<float>(tensor.init_deviation * NormalFromHash(hash));
}

void InitialRowValues(uint64_t seed, const TableSpec& table, uint64_t id, std::span<float> row) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(table.row_count));
  const uint64_t key = KeyedHash(seed, RunStream::kInitialRow, table.id, id);
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(bound * (2.0 * UnitFromHash(Mix64(key ^ Mix64(i))) - 1.0));
  }
}

uint32_t RowServer(uint32_t table, uint64_t id, uint32_t server_count) {
  return static_cast<uint32_t>((KeyedHash(kRowServerSeed, table, id) >> 32) % server_count);
}

uint32_t RowPartition(uint32_t table, uint64_t id, uint32_t partition_count) {
  return static_cast<uint32_t>((KeyedHash(kRowPartitionSeed, table, id) >> 32) % partition_count);
}

}  // namespace weir
