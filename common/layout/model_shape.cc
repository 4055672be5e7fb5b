#include "common/layout/model_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/check.h"
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

ModelShape::ModelShape(const v1::Config& config)
    : model_(config.model()),
      embedding_dimension_(config.model().embedding_dimension()),
      seed_(config.run().seed()) {
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
}

void ModelShape::AddMlp(const std::string& name, int64_t input_width,
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

void ModelShape::AddTensor(std::string name, int64_t row_count, int64_t column_count,
                           double deviation) {
  const auto id = static_cast<uint32_t>(tensors_.size());
  tensors_.push_back(
      {id, std::move(name), row_count, column_count, deviation, flat_element_count_});
  const int64_t elements = row_count * column_count;
  dense_element_count_ += elements;
  flat_element_count_ +=
      (elements + kAlignmentElements - 1) / kAlignmentElements * kAlignmentElements;
}

int64_t ModelShape::interaction_width() const {
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

}  // namespace weir
