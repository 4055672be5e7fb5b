// The model's mean logloss, and the loss that its config chose, in 64 bits, one sample and one sum
// at a time: what the gradients of Dlrm are checked against by central differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/layout/model_layout.h"
#include "worker/data/batch.h"

namespace weir::test {

class ReferenceDlrm {
 public:
  ReferenceDlrm(const ModelLayout& layout, const data::Batch& batch)
      : layout_(layout), batch_(batch) {}

  // parameters: flat, as the layout says; rows: the unique rows, table after table.
  double MeanLogloss(std::span<const double> parameters, std::span<const double> rows) const {
    double sum = 0.0;
    for (size_t s = 0; s < static_cast<size_t>(batch_.row_count); ++s) {
      const double logit = Logit(parameters, rows, s);
      sum += batch_.labels[s] > 0.5f ? std::log1p(std::exp(-logit)) : std::log1p(std::exp(logit));
    }
    return sum / batch_.row_count;
  }

  // Of the loss that the config chose.
  double MeanLoss(std::span<const double> parameters, std::span<const double> rows) const {
    double sum = 0.0;
    for (size_t s = 0; s < static_cast<size_t>(batch_.row_count); ++s) {
      sum += LossOf(Logit(parameters, rows, s), batch_.labels[s] > 0.5f);
    }
    return sum / batch_.row_count;
  }

  double Logit(std::span<const double> parameters, std::span<const double> rows,
               size_t sample) const {
    const auto dense_count = static_cast<size_t>(layout_.dense_feature_count());
    const float* dense = batch_.dense.data() + sample * dense_count;
    std::vector<std::vector<double>> vectors;
    if (dense_count > 0) {
      vectors.push_back(RunMlp(parameters, layout_.bottom_weights(), layout_.bottom_activations(),
                               {dense, dense + dense_count}));
    }
    const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
    for (const data::TableIds& ids : batch_.tables) {
      vectors.push_back(Pool(ids, rows, sample, dimension));
      rows = rows.subspan(ids.unique.size() * dimension);
    }
    return RunMlp(parameters, layout_.top_weights(), layout_.top_activations(),
                  Interact(vectors))[0];
  }

 private:
  double LossOf(double logit, bool positive) const {
    const v1::LossConfig& loss = layout_.model().loss();
    const double probability = 1 / (1 + std::exp(-logit));
    if (loss.has_mse()) return std::pow(probability - (positive ? 1 : 0), 2);
    const double cross = -std::log(positive ? probability : 1 - probability);
    if (!loss.has_weighted_bce()) return cross;
    return cross * (positive ? loss.weighted_bce().positive_weight()
                             : loss.weighted_bce().negative_weight());
  }

  static std::vector<double> Pool(const data::TableIds& ids, std::span<const double> rows,
                                  size_t sample, size_t dimension) {
    const bool lists = !ids.ends.empty();
    const size_t begin = !lists ? sample : sample == 0 ? 0 : ids.ends[sample - 1];
    const size_t end = lists ? ids.ends[sample] : sample + 1;
    std::vector<double> sum(dimension);
    for (size_t k = begin; k < end; ++k) {
      const double weight = ids.weights.empty() ? 1 : ids.weights[k];
      for (size_t d = 0; d < dimension; ++d) {
        sum[d] += weight * rows[ids.positions[k] * dimension + d];
      }
    }
    return sum;
  }

  static double Activate(int activation, double x) {
    if (activation == v1::ModelConfig::RELU) return x < 0 ? 0 : x;
    return activation == v1::ModelConfig::SIGMOID ? 1 / (1 + std::exp(-x)) : x;
  }

  std::vector<double> RunMlp(std::span<const double> parameters, std::span<const uint32_t> weights,
                             std::span<const v1::ModelConfig::Activation> activations,
                             std::vector<double> x) const {
    for (size_t layer = 0; layer < weights.size(); ++layer) {
      const TensorSpec& weight = layout_.tensors()[weights[layer]];
      const TensorSpec& bias = layout_.tensors()[weights[layer] + 1];
      std::vector<double> y;
      for (int64_t o = 0; o < weight.row_count; ++o) {
        double sum = parameters[static_cast<size_t>(bias.offset + o)];
        for (size_t i = 0; i < x.size(); ++i) {
          sum +=
              x[i] * parameters[static_cast<size_t>(weight.offset + o * weight.column_count) + i];
        }
        y.push_back(Activate(activations[layer], sum));
      }
      x = Mask(weight.name.substr(0, weight.name.rfind('/')), y);
    }
    return x;
  }

  // What DCT-MP leaves of a sample behind this layer, if there is a split.
  std::vector<double> Mask(const std::string& layer, std::vector<double> x) const {
    for (const v1::SplitConfig& split : layout_.pipeline().split()) {
      if (split.after() != layer || !split.has_dct_mp()) continue;
      std::vector<double> magnitudes;
      for (const double value : x) magnitudes.push_back(std::abs(value));
      std::ranges::sort(magnitudes);
      const auto dropped = static_cast<size_t>(
          std::floor(static_cast<double>(x.size()) * split.dct_mp().sparsity() + 1e-9));
      for (double& value : x) value = std::abs(value) >= magnitudes[dropped] ? value : 0;
    }
    return x;
  }

  std::vector<double> Interact(const std::vector<std::vector<double>>& vectors) const {
    const v1::ModelConfig::Interaction kind = layout_.model().interaction();
    std::vector<double> output = vectors[0];
    if (kind == v1::ModelConfig::CAT) {
      for (size_t i = 1; i < vectors.size(); ++i) {
        output.insert(output.end(), vectors[i].begin(), vectors[i].end());
      }
      return output;
    }
    for (size_t i = 0; i < vectors.size(); ++i) {
      for (size_t j = 0; j < i + (kind == v1::ModelConfig::DOT_WITH_SELF ? 1 : 0); ++j) {
        double dot = 0.0;
        for (size_t d = 0; d < vectors[0].size(); ++d) dot += vectors[i][d] * vectors[j][d];
        output.push_back(dot);
      }
    }
    return output;
  }

  const ModelLayout& layout_;
  const data::Batch& batch_;
};

}  // namespace weir::test
