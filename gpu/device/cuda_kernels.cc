#include "gpu/device/cuda_kernels.h"

#include "gpu/device/table_entries.h"

namespace weir::gpu {
namespace {

template <Factors factors>
constexpr kernels::DeviceKernels kKernels{
    .linear_forward = entries::LinearForward<factors>,
    .linear_backward_data = entries::LinearBackwardData<factors>,
    .linear_backward_weight = entries::LinearBackwardWeight<factors>,
    .linear_backward_squares = entries::LinearBackwardSquares<factors>,
    .bias_backward_squares = entries::BiasBackwardSquares,
    .transpose = entries::Transpose,
    .relu_backward = entries::ReluBackward,
    .sigmoid_forward = entries::SigmoidForward,
    .sigmoid_backward = entries::SigmoidBackward,
    .pool_tables = entries::PoolTables,
    .scatter_tables = entries::ScatterTables,
    .interaction_forward = entries::InteractionForward,
    .interaction_backward = entries::InteractionBackward,
    .sigmoid = entries::Sigmoid,
    .loss = entries::Loss,
    .clip_norm = entries::ClipNorm,
    .add_squares = entries::AddSquares,
    .write_values = entries::WriteValues,
    .note_not_finite = entries::NoteNotFinite,
    .mark_nonzero = entries::MarkNonzero,
};

constexpr kernels::SelectTable kSelect{
    .accumulate_and_select = entries::AccumulateAndSelect,
    .correct_thresholds = entries::CorrectThresholds,
    .accumulate = entries::Accumulate,
    .find_ranks = entries::FindRanks,
    .find_largest = entries::FindLargest,
    .sum_buckets = entries::SumBuckets,
    .gather_magnitudes = entries::GatherMagnitudes,
    .take_values = entries::TakeValues,
};

constexpr kernels::SplitTable kSplit{
    .choose_largest = entries::ChooseLargest,
    .gather_values = entries::GatherValues,
};

constexpr kernels::UpdateTable kUpdate{
    .initialize_rows = entries::InitializeRows,
    .read_rows = entries::ReadRows,
    .rest_rows = entries::RestRows,
    .read_rested_rows = entries::ReadRestedRows,
    .update_rows = entries::UpdateRows,
    .update_dense = entries::UpdateDense,
    .copy_rows = entries::CopyRows,
    .write_rows = entries::WriteRows,
};

const kernels::DeviceKernels& KernelsFor(kernels::Precision precision) {
  switch (precision) {
    case kernels::Precision::kBf16:
      return kKernels<Factors::kBf16>;
    case kernels::Precision::kTf32:
      return kKernels<Factors::kTf32>;
    default:
      return kKernels<Factors::kF32>;
  }
}

}  // namespace

kernels::Compute CudaCompute(CudaDevice& device, kernels::Precision precision, int64_t batch_rows) {
  return {.device = &device,
          .kernels = &KernelsFor(precision),
          .select = &kSelect,
          .split = &kSplit,
          .update = &kUpdate,
          .slice_rows = batch_rows,
          .turns_hidden = true};
}

}  // namespace weir::gpu
