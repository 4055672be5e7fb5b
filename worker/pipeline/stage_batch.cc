#include "worker/pipeline/stage_batch.h"

#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"
#include "common/wire/frame.h"

namespace weir::worker {
namespace {

// Calls use(slice, index) for each slice until one fails.
template <typename Use>
Status ForEachSlice(const StageBatch& batch, const Use& use) {
  const int64_t rows = batch.batch.row_count;
  for (int64_t begin = 0; begin < rows; begin += model::kSliceRows) {
    const model::Slice slice = model::SliceAt(rows, begin);
    WEIR_RETURN_IF_ERROR(use(slice, size_t{slice.number}));
  }
  return OkStatus();
}

}  // namespace

StageMath::StageMath(const ModelLayout& layout, uint32_t trainer, uint32_t stage,
                     const kernels::KernelTable& kernels, compress::SquareSumsOfTensors squares)
    : layout_(layout),
      stage_(stage),
      kernels_(kernels),
      squares_(std::move(squares)),
      loss_(layout.model().loss(), kernels),
      whole_(split::MakeWholePolicy()),
      counts_(layout.stages().size() - 1) {
  const auto make = [&](uint32_t split) {
    return split::MakeSplitPolicy(layout.pipeline().split(static_cast<int>(split)),
                                  KeyedHash(layout.seed(), RunStream::kSplit, trainer), kernels);
  };
  if (!is_first()) before_ = make(stage - 1);
  if (!is_last()) behind_ = make(stage);
}

void StageMath::MakeRoom(StageBatch* batch) const {
  const auto slice_count =
      static_cast<size_t>((batch->batch.row_count + model::kSliceRows - 1) / model::kSliceRows);
  while (batch->slices.size() < slice_count) {
    batch->slices.emplace_back(layout_, layout_.stages()[stage_], kernels_, model::kSliceRows,
                               squares_);
  }
  batch->before.resize(batch->slices.size());
  batch->behind.resize(batch->slices.size());
}

Status StageMath::Forward(const float* parameters, std::span<const float> rows, Crossing crossing,
                          session::BodyReader* input, StageBatch* batch,
                          session::BodyWriter* output) {
  MakeRoom(batch);
  return ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    if (!is_first()) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, input->Next());
      WEIR_RETURN_IF_ERROR(Policy(before_, crossing)
                               ->TakeForward({batch->number, stage_ - 1, slice.number}, frame,
                                             stage.input(slice), &batch->before[i]));
    }
    stage.Forward(parameters, batch->batch, slice, rows);
    if (is_last()) return OkStatus();
    const size_t bytes_before = output->byte_count();
    const kernels::MatrixView given = stage.output(slice);
    split::SplitPolicy& policy = *Policy(behind_, crossing);
    policy.SendForward({batch->number, stage_, slice.number}, given, &batch->behind[i],
                       output->Next());
    if (batch->is_test()) return OkStatus();
    model::SplitCounts& split = counts_[stage_];
    split.elements += static_cast<uint64_t>(given.row_count * given.column_count);
    split.elements_sent += policy.sent_count();
    split.forward_bytes += output->byte_count() - bytes_before;
    split.threshold = policy.threshold();
    return OkStatus();
  });
}

Result<double> StageMath::Loss(const float* parameters, std::span<const float> rows,
                               StageBatch* batch) {
  CHECK(is_last());
  double sum = 0;
  Status status = ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    sum += loss_.Compute(batch->batch, slice, batch->name.mean_rows(), &stage);
    if (std::isfinite(sum)) return OkStatus();
    std::string place = stage.FirstNonFinite(parameters, batch->batch, slice, rows);
    if (place.empty()) place = "none any more";  // the replica is written meanwhile
    return Internal(
        StrCat("the loss is not finite; the first place in the last stage that is not: ", place,
               ". Training has diverged: try a smaller learning rate, and a transform for columns "
               "of large values"));
  });
  if (!status.ok()) return status;
  return sum;
}

void StageMath::Score(StageBatch* batch, std::vector<float>* probabilities) {
  const auto status = ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) {
    const size_t first = probabilities->size();
    probabilities->resize(first + static_cast<size_t>(slice.row_count));
    kernels_.sigmoid({batch->slices[i].output(slice).data, slice.row_count},
                     {probabilities->data() + first, slice.row_count});
    return OkStatus();
  });
  CHECK(status.ok());
}

Status StageMath::Backward(const float* parameters, const model::GradientBuffers& gradients,
                           session::BodyReader* input, StageBatch* batch,
                           session::BodyWriter* output) {
  return ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    if (!is_last()) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, input->Next());
      WEIR_RETURN_IF_ERROR(behind_->TakeBackward({batch->number, stage_, slice.number}, frame,
                                                 batch->behind[i], stage.output_gradient(slice)));
    }
    stage.Backward(parameters, batch->batch, slice, gradients);
    if (is_first()) return OkStatus();
    const size_t bytes_before = output->byte_count();
    before_->SendBackward({batch->number, stage_ - 1, slice.number}, stage.input_gradient(slice),
                          batch->before[i], output->Next());
    counts_[stage_ - 1].backward_bytes += output->byte_count() - bytes_before;
    return OkStatus();
  });
}

std::vector<model::SplitCounts> StageMath::TakeSplitCounts() {
  return std::exchange(counts_, std::vector<model::SplitCounts>(counts_.size()));
}

}  // namespace weir::worker
