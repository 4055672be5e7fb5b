// The model's mean logloss in 64 bits, one sample and one sum at a time: what the gradients of Dlrm
// are checked against by central differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
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

  double Logit(std::span<const double> parameters, std::span<const double> rows,
               size_t sample) const {
    const auto dense_count = static_cast<size_t>(layout_.dense_feature_count());
    const float* dense = batch_.dense.data() + sample * dense_count;
    const std::vector<double> bottom =
        RunMlp(parameters, layout_.bottom_weights(), {dense, dense + dense_count}, true);
    std::vector<std::vector<double>> vectors = {bottom};
    for (const data::TableIds& ids : batch_.tables) {
      const auto dimension = static_cast<size_t>(layout_.embedding_dimension());
      const auto row = rows.subspan(ids.positions[sample] * dimension, dimension);
      vectors.emplace_back(row.begin(), row.end());
      rows = rows.subspan(ids.unique.size() * dimension);
    }
    return RunMlp(parameters, layout_.top_weights(), Interact(vectors), false)[0];
  }

 private:
  std::vector<double> RunMlp(std::span<const double> parameters, std::span<const uint32_t> weights,
                             std::vector<double> x, bool last_relu) const {
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
        y.push_back(sum < 0.0 && (last_relu || layer + 1 < weights.size()) ? 0.0 : sum);
      }
      x = y;
    }
    return x;
  }

  static std::vector<double> Interact(const std::vector<std::vector<double>>& vectors) {
    std::vector<double> output = vectors[0];
    for (size_t i = 1; i < vectors.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
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
