#include <cmath>

#include "common/base/check.h"
#include "common/kernels/cpu_functions.h"

namespace weir::kernels::cpu {
namespace {

// exp only ever sees an argument at or below 0.
double SigmoidOf(double logit) {
  const double tail = std::exp(-std::fabs(logit));  // of the smaller side
  return (logit < 0.0 ? tail : 1.0) / (1.0 + tail);
}

// Of one sample's loss by its logit.
double GradientOf(const Loss& loss, double probability, double label) {
  const double difference = probability - label;
  if (loss.kind == Loss::Kind::kSquare) return 2 * difference * probability * (1 - probability);
  return (label == 1 ? loss.positive_weight : loss.negative_weight) * difference;
}

// -y log p - (1 - y) log(1 - p) = max(z, 0) - z y + log(1 + exp(-|z|)) for p = sigmoid(z).
double LoglossOf(double logit, double label) {
  const double positive = 0.0 > logit ? 0.0 : logit;
  return positive - logit * label + std::log1p(std::exp(-std::fabs(logit)));
}

}  // namespace

void Sigmoid(const ConstVectorView& logits, const VectorView& probabilities) {
  CHECK_EQ(logits.count, probabilities.count);
  for (int64_t s = 0; s < logits.count; ++s) {
    probabilities.data[s] = static_cast<float>(SigmoidOf(logits.data[s]));
  }
}

void SigmoidForward(const MatrixView& y) {
  for (int64_t f = 0; f < y.row_count; ++f) {
    const VectorView row{y.row(f), y.column_count};
    Sigmoid({row.data, row.count}, row);
  }
}

void SigmoidBackward(const ConstMatrixView& y, const MatrixView& gradient) {
  CHECK_EQ(y.row_count, gradient.row_count);
  CHECK_EQ(y.column_count, gradient.column_count);
  for (int64_t f = 0; f < y.row_count; ++f) {
    const float* output = y.row(f);
    float* row = gradient.row(f);
    for (int64_t s = 0; s < y.column_count; ++s) row[s] *= output[s] * (1.0f - output[s]);
  }
}

void LossAndGradients(const Loss& loss, const ConstVectorView& logits,
                      const ConstVectorView& labels, int64_t mean_rows,
                      const VectorView& logit_gradients, double* sum) {
  CHECK_EQ(logits.count, labels.count);
  CHECK_EQ(logits.count, logit_gradients.count);
  const auto sample_count = static_cast<double>(logits.count);
  // Of samples among mean_rows; the two roundings are those of a mean over the samples.
  const auto weight = static_cast<float>(sample_count / static_cast<double>(mean_rows));
  *sum = 0.0;
  for (int64_t s = 0; s < logits.count; ++s) {
    const double logit = logits.data[s], label = labels.data[s];
    *sum += LoglossOf(logit, label);
    const double probability = SigmoidOf(logit);
    logit_gradients.data[s] =
        static_cast<float>(GradientOf(loss, probability, label) / sample_count) * weight;
  }
}

}  // namespace weir::kernels::cpu
