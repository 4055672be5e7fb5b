#include "worker/pipeline/stage_batch.h"

#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"
#include "common/wire/frame.h"
#include "worker/model/kernels_for.h"

namespace weir::worker {
namespace {

// Calls use(slice, index) for each slice until one fails.
template <typename Use>
Status ForEachSlice(const StageBatch& batch, const Use& use) {
  const int64_t rows = batch.batch.row_count;
  for (int64_t begin = 0; begin < rows; begin += model::kSplitRows) {
    const model::Slice slice = model::SliceAt(rows, begin, model::kSplitRows);
    WEIR_RETURN_IF_ERROR(use(slice, size_t{slice.number}));
  }
  return OkStatus();
}

}  // namespace

StageMath::StageMath(const ModelLayout& layout, uint32_t trainer, uint32_t stage,
                     const kernels::Compute& compute, device::Stream& stream,
                     compress::SquareSumsOfTensors squares)
    : layout_(layout),
      stage_(stage),
      compute_(compute),
      stream_(stream),
      squares_(std::move(squares)),
      loss_(layout.model().loss(), compute),
      given_(*compute.device),
      taken_(*compute.device),
      probabilities_(*compute.device, model::kSplitRows, "probabilities"),
      whole_(split::MakeWholePolicy()),
      counts_(layout.stages().size() - 1) {
  const auto make = [&](uint32_t split) {
    return split::MakeSplitPolicy(layout.pipeline().split(static_cast<int>(split)),
                                  KeyedHash(layout.seed(), RunStream::kSplit, trainer),
                                  model::HostKernelsFor(layout.model()));
  };
  if (!is_first()) before_ = make(stage - 1);
  if (!is_last()) behind_ = make(stage);
}

void StageMath::MakeRoom(StageBatch* batch) const {
  const auto slice_count =
      static_cast<size_t>((batch->batch.row_count + model::kSplitRows - 1) / model::kSplitRows);
  while (batch->slices.size() < slice_count) {
    batch->slices.emplace_back(layout_, layout_.stages()[stage_], compute_, model::kSplitRows,
                               squares_);
  }
  if (!batch->on_device) batch->on_device.emplace(*compute_.device);
  batch->before.resize(batch->slices.size());
  batch->behind.resize(batch->slices.size());
}

Status StageMath::Forward(device::Pointer<const float> parameters, device::Span<const float> rows,
                          Crossing crossing, session::BodyReader* input, StageBatch* batch,
                          session::BodyWriter* output) {
  MakeRoom(batch);
  batch->on_device->Set(batch->batch, stream_);
  return ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    if (!is_first()) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, input->Next());
      const kernels::DeviceMatrix to = stage.input(slice);
      WEIR_RETURN_IF_ERROR(Policy(before_, crossing)
                               ->TakeForward({batch->number, stage_ - 1, slice.number}, frame,
                                             taken_.Room(to), &batch->before[i]));
      WEIR_RETURN_IF_ERROR(taken_.Write(stream_, to));
    }
    stage.Forward(stream_, parameters, *batch->on_device, slice, rows);
    if (is_last()) return OkStatus();
    const size_t bytes_before = output->byte_count();
    WEIR_ASSIGN_OR_RETURN(const kernels::ConstMatrixView given,
                          given_.Read(stream_, stage.output(slice)));
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

Result<double> StageMath::Loss(device::Pointer<const float> parameters,
                               device::Span<const float> rows, StageBatch* batch) {
  CHECK(is_last());
  double sum = 0;
  Status status = ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    loss_.Compute(stream_, *batch->on_device, slice, batch->name.mean_rows(), &stage);
    WEIR_ASSIGN_OR_RETURN(const double of_slice, loss_.AwaitSum(stream_));
    sum += of_slice;
    if (std::isfinite(sum)) return OkStatus();
    std::string place = stage.FirstNonFinite(stream_, parameters, *batch->on_device, slice, rows);
    if (place.empty()) place = "none any more";  // the replica is written meanwhile
    return Internal(
        StrCat("the loss is not finite; the first place in the last stage that is not: ", place,
               ". Training has diverged: try a smaller learning rate, and a transform for columns "
               "of large values"));
  });
  if (!status.ok()) return status;
  return sum;
}

Status StageMath::Score(StageBatch* batch, std::vector<float>* probabilities) {
  return ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    const auto count = static_cast<size_t>(slice.row_count);
    compute_.kernels->sigmoid(stream_, {batch->slices[i].output(slice).data, slice.row_count},
                              {probabilities_.device().data, slice.row_count});
    probabilities_.Download(stream_, count);
    WEIR_RETURN_IF_ERROR(stream_.Synchronize());
    const std::span<const float> of_slice = probabilities_.host().first(count);
    probabilities->insert(probabilities->end(), of_slice.begin(), of_slice.end());
    return OkStatus();
  });
}

Status StageMath::Backward(device::Pointer<const float> parameters,
                           const model::GradientBuffers& gradients, session::BodyReader* input,
                           StageBatch* batch, session::BodyWriter* output) {
  stream_.Zero(gradients.rows);
  stream_.Zero(gradients.row_squares);
  return ForEachSlice(*batch, [&](const model::Slice& slice, size_t i) -> Status {
    model::Stage& stage = batch->slices[i];
    if (!is_last()) {
      WEIR_ASSIGN_OR_RETURN(const wire::FrameView frame, input->Next());
      const kernels::DeviceMatrix to = stage.output_gradient(slice);
      WEIR_RETURN_IF_ERROR(behind_->TakeBackward({batch->number, stage_, slice.number}, frame,
                                                 batch->behind[i], taken_.Room(to)));
      WEIR_RETURN_IF_ERROR(taken_.Write(stream_, to));
    }
    stage.Backward(stream_, parameters, *batch->on_device, slice, gradients);
    if (is_first()) return OkStatus();
    const size_t bytes_before = output->byte_count();
    WEIR_ASSIGN_OR_RETURN(const kernels::ConstMatrixView given,
                          given_.Read(stream_, stage.input_gradient(slice)));
    before_->SendBackward({batch->number, stage_ - 1, slice.number}, given, batch->before[i],
                          output->Next());
    counts_[stage_ - 1].backward_bytes += output->byte_count() - bytes_before;
    return OkStatus();
  });
}

std::vector<model::SplitCounts> StageMath::TakeSplitCounts() {
  return std::exchange(counts_, std::vector<model::SplitCounts>(counts_.size()));
}

}  // namespace weir::worker
