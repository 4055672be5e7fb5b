// A thread a sample, in 64 bits; the sum by blocks and then over them, always in the same order.
//
// Floor, for n samples: 12 n bytes, and some 60 operations of 64 bits a sample.
#include "gpu/kernels/loss.h"

#include "gpu/kernels/block_sum.h"
#include "gpu/kernels/logistic.h"

namespace weir::gpu {
namespace {

constexpr unsigned kThreads = 256;

// Of one sample's loss by its logit.
__device__ double GradientOf(const kernels::Loss& loss, double probability, double label) {
  const double difference = probability - label;
  if (loss.kind == kernels::Loss::Kind::kSquare) {
    return 2 * difference * probability * (1 - probability);
  }
  return (label == 1 ? loss.positive_weight : loss.negative_weight) * difference;
}

// As common/kernels/cpu_loss.cc has it.
__device__ double LoglossOf(double logit, double label) {
  const double positive = 0.0 > logit ? 0.0 : logit;
  return positive - logit * label + log1p(exp(-fabs(logit)));
}

__global__ void LossKernel(LossArguments arguments, double* sums) {
  WEIR_SHARED(double, parts, [kThreads]);
  const int64_t sample = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  double logloss = 0;
  if (sample < arguments.count) {
    const double logit = static_cast<double>(arguments.logits[sample]);
    const double label = static_cast<double>(arguments.labels[sample]);
    const auto count = static_cast<double>(arguments.count);
    // The roundings are the CPU's: of a mean over the samples, and of their weight in mean_rows.
    const auto weight = static_cast<float>(count / static_cast<double>(arguments.mean_rows));
    const double gradient = GradientOf(arguments.loss, SigmoidOf(logit), label) / count;
    arguments.logit_gradients[sample] = static_cast<float>(gradient) * weight;
    logloss = LoglossOf(logit, label);
  }
  const double sum = BlockSum<kThreads>(logloss, parts);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void AddUpKernel(const double* sums, unsigned count, double* sum) {
  double total = 0;
  for (unsigned i = 0; i < count; ++i) total += sums[i];
  *sum = total;
}

}  // namespace

size_t LossScratchBytes(int64_t count) { return BlocksFor(count, kThreads) * sizeof(double); }

cudaError_t Loss(const LossArguments& arguments, double* sum, void* scratch, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(arguments.count, kThreads);
  auto* const sums = static_cast<double*>(scratch);
  const cudaError_t error = Launch(LossKernel, blocks, kThreads, 0, stream, arguments, sums);
  if (error != cudaSuccess) return error;
  return Launch(AddUpKernel, 1, 1, 0, stream, static_cast<const double*>(sums), blocks, sum);
}

}  // namespace weir::gpu
