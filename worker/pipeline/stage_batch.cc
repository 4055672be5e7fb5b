#include "worker/pipeline/stage_batch.h"

#include <cmath>
#include <utility>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/base/strings.h"
#include "common/compress/not_finite.h"
#include "common/wire/frame.h"
#include "worker/model/finite.h"
#include "worker/model/kernels_for.h"

namespace weir::worker {
namespace {

constexpr const char* kHasDiverged =
    "Training has diverged: try a smaller learning rate, and a transform for columns of large "
    "values";

// Calls use(slice, index) for each slice until one fails.
template <typename Use>
Status ForEachSlice(const StageBatch& batch, int64_t slice_rows, const Use& use) {
  const int64_t rows = batch.batch.row_count;
  for (int64_t begin = 0; begin < rows; begin += slice_rows) {
    const model::Slice slice = model::SliceAt(rows, begin, slice_rows);
    WEIR_RETURN_IF_ERROR(use(slice, size_t{slice.number}));
  }
  return OkStatus();
}

// Of a slice's frames.
std::span<split::BlockMemory> MemoryOf(std::vector<split::BlockMemory>& memory,
                                       const model::Slice& slice) {
  return std::span(memory).subspan(static_cast<size_t>(slice.begin / model::kSplitRows),
                                   model::FrameCount(slice));
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
      watch_(compute),
      end_(compute),
      probabilities_(*compute.device, static_cast<size_t>(compute.slice_rows), "probabilities"),
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
  const int64_t rows = batch->batch.row_count;
  const auto slice_count =
      static_cast<size_t>((rows + compute_.slice_rows - 1) / compute_.slice_rows);
  while (batch->slices.size() < slice_count) {
    batch->slices.emplace_back(layout_, layout_.stages()[stage_], compute_, compute_.slice_rows,
                               squares_);
  }
  if (!batch->on_device) batch->on_device.emplace(*compute_.device);
  const size_t frame_count = model::FrameCount({.row_count = rows});
  batch->before.resize(frame_count);
  batch->behind.resize(frame_count);
}

Status StageMath::Forward(device::Pointer<const float> parameters, device::Span<const float> rows,
                          Crossing crossing, session::BodyReader* input, StageBatch* batch,
                          session::BodyWriter* output) {
  MakeRoom(batch);
  batch->on_device->Set(batch->batch, stream_);
  return ForEachSlice(
      *batch, compute_.slice_rows, [&](const model::Slice& slice, size_t i) -> Status {
        model::Stage& stage = batch->slices[i];
        if (!is_first()) {
          WEIR_RETURN_IF_ERROR(end_.TakeForward(
              stream_,
              {batch->number, stage_ - 1, *Policy(before_, crossing),
               MemoryOf(batch->before, slice)},
              slice, [&] { return input->Next(); }, stage.input(slice)));
        }
        stage.Forward(stream_, parameters, *batch->on_device, slice, rows);
        if (is_last()) return OkStatus();
        return end_.SendForward(
            stream_,
            {batch->number, stage_, *Policy(behind_, crossing), MemoryOf(batch->behind, slice)},
            slice, stage.output(slice), [&] { return output->Next(); },
            batch->is_test() ? nullptr : &counts_[stage_]);
      });
}

Result<double> StageMath::Loss(device::Pointer<const float> parameters,
                               device::Span<const float> rows, StageBatch* batch) {
  CHECK(is_last());
  double sum = 0;
  Status status =
      ForEachSlice(*batch, compute_.slice_rows, [&](const model::Slice& slice, size_t i) -> Status {
        model::Stage& stage = batch->slices[i];
        loss_.Compute(stream_, *batch->on_device, slice, batch->name.mean_rows(), &stage);
        loss_.StartDownload(stream_);
        WEIR_ASSIGN_OR_RETURN(const double of_slice, loss_.AwaitSum(stream_));
        sum += of_slice;
        if (std::isfinite(sum)) return OkStatus();
        std::string place =
            stage.FirstNonFinite(stream_, parameters, *batch->on_device, slice, rows);
        if (place.empty()) place = "none any more";  // the replica is written meanwhile
        return Internal(
            StrCat("the loss is not finite; the first place in the last stage that is not: ", place,
                   ". ", kHasDiverged));
      });
  if (!status.ok()) return status;
  return sum;
}

Status StageMath::Score(StageBatch* batch, std::vector<float>* probabilities) {
  return ForEachSlice(
      *batch, compute_.slice_rows, [&](const model::Slice& slice, size_t i) -> Status {
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
  WEIR_RETURN_IF_ERROR(
      ForEachSlice(*batch, compute_.slice_rows, [&](const model::Slice& slice, size_t i) -> Status {
        model::Stage& stage = batch->slices[i];
        if (!is_last()) {
          WEIR_RETURN_IF_ERROR(end_.TakeBackward(
              stream_, {batch->number, stage_, *behind_, MemoryOf(batch->behind, slice)}, slice,
              [&] { return input->Next(); }, stage.output_gradient(slice)));
        }
        stage.Backward(stream_, parameters, *batch->on_device, slice, gradients);
        if (is_first()) return OkStatus();
        return end_.SendBackward(
            stream_, {batch->number, stage_ - 1, *before_, MemoryOf(batch->before, slice)}, slice,
            stage.input_gradient(slice), [&] { return output->Next(); }, &counts_[stage_ - 1]);
      }));
  if (!compute_.turns_hidden) return OkStatus();
  const auto flat_count = static_cast<size_t>(layout_.flat_element_count());
  watch_.Look(stream_, {{parameters, flat_count}, {gradients.dense, flat_count}});
  return OkStatus();
}

Status StageMath::AwaitFinite(device::Pointer<const float> parameters,
                              device::Pointer<const float> gradients) {
  if (!compute_.turns_hidden) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const bool are_finite, watch_.AreFinite(stream_));
  if (are_finite) return OkStatus();
  std::string name = model::FirstNonFiniteTensor(stream_, layout_.tensors(), parameters);
  if (!name.empty()) return Internal(StrCat(name, " is not finite. ", kHasDiverged));
  name = model::FirstNonFiniteTensor(stream_, layout_.tensors(), gradients);
  return name.empty() ? OkStatus()  // the replica is written meanwhile
                      : compress::NotFinite(name);
}

std::vector<model::SplitCounts> StageMath::TakeSplitCounts() {
  return std::exchange(counts_, std::vector<model::SplitCounts>(counts_.size()));
}

}  // namespace weir::worker
