#include "worker/step/step_finisher.h"

#include <string>
#include <utility>

#include "common/device/repeat_key.h"

namespace weir::worker {
namespace {

// With room for a larger batch, where it has to grow.
void Grow(device::Device& device, size_t count, const std::string& purpose,
          device::Mirror<float>* mirror) {
  if (mirror->size() < count) *mirror = device::Mirror<float>(device, count * 5 / 4, purpose);
}

std::span<const float> Host(const device::Mirror<float>& mirror, size_t count) {
  return std::span<const float>(mirror.host()).first(count);
}

kernels::DeviceVector View(device::Span<float> values) {
  return {values.data, static_cast<int64_t>(values.size)};
}

}  // namespace

StepFinisher::StepFinisher(const Parts& parts)
    : parts_(parts),
      compute_(parts.compute),
      dimension_(static_cast<size_t>(parts.layout.embedding_dimension())),
      push_scratch_(parts.client->NewPushScratch()),
      dead_units_(parts.dead_units, parts.compute),
      dense_(*parts.compute.device, static_cast<size_t>(parts.layout.flat_element_count()),
             "gradients"),
      factor_(*parts.compute.device, 1, "clipping"),
      rows_(parts.compute, parts.stream, parts.client),
      needs_row_squares_(parts.client->needs_row_squares()) {
  if (parts.update.dense().clip_norm() > 0) {
    clipped_squares_.emplace(parts.compute, parts.client->square_sums());
  }
}

compress::SquareSumsOfTensors StepFinisher::square_sums() {
  return clipped_squares_ ? clipped_squares_->of_step() : parts_.client->square_sums();
}

device::Span<float> StepFinisher::Used(const device::Mirror<float>& buffer, size_t count) const {
  return compute_.device->is_host() ? buffer.device().first(count) : buffer.device();
}

model::GradientBuffers StepFinisher::Gradients(size_t row_element_count) {
  Grow(*compute_.device, row_element_count, "gradients of rows", &row_gradients_);
  used_row_gradients_ = row_element_count;
  used_row_squares_ = needs_row_squares_ ? row_element_count / dimension_ : 0;
  Grow(*compute_.device, used_row_squares_, "squares of rows", &row_squares_);
  return {dense_.data(), Used(row_gradients_, used_row_gradients_),
          Used(row_squares_, used_row_squares_)};
}

StepGradients StepFinisher::WithDense(StepGradients step) const {
  step.scratch = push_scratch_.get();
  step.dense = dense_.span();
  step.stream = &parts_.stream;
  return step;
}

model::GradientListener* StepFinisher::Begin(const StepGradients& step) {
  listener_.push = parts_.client->BeginPush(WithDense(step));
  return listener_.push == nullptr ? nullptr : &listener_;
}

Result<uint64_t> StepFinisher::Finish(StepGradients step, const AwaitLoss& await_loss,
                                      ChunkWork* chunk, const ChunkWork::BatchRange& range) {
  const int64_t row_count = step.batch->row_count;
  WEIR_RETURN_IF_ERROR(dead_units_.Add(parts_.stream, dense_.data(), row_count));
  Clip(row_count);
  step = WithDense(std::move(step));
  step.rows_on_device = row_gradients_.device().first(used_row_gradients_);
  if (!parts_.client->applies_rows_on_device()) DownloadRows(&step);
  WEIR_ASSIGN_OR_RETURN(const double logloss_sum, await_loss());
  WEIR_RETURN_IF_ERROR(parts_.stream.Synchronize());
  if (chunk != nullptr) {
    step.lease = chunk->lease().lease();
    step.offset = chunk->FinishedRows(step.mark.durable_sequence);
    step.round = chunk->round(range);
  }
  const std::unique_ptr<BegunPush> begun = std::move(listener_.push);
  step.begun = begun.get();
  WEIR_ASSIGN_OR_RETURN(const uint64_t sequence, parts_.client->Push(step));
  if (chunk == nullptr) return sequence;
  // Counted before it is finished: whoever waits for the chunk reports it next.
  parts_.counters->AddStep(step.batch->labels, logloss_sum);
  chunk->Finish(range, sequence);
  return sequence;
}

void StepFinisher::DownloadRows(StepGradients* step) {
  row_gradients_.Download(parts_.stream, used_row_gradients_);
  row_squares_.Download(parts_.stream, used_row_squares_);
  step->rows = Host(row_gradients_, used_row_gradients_);
  step->row_squares = Host(row_squares_, used_row_squares_);
}

void StepFinisher::Clip(int64_t row_count) {
  if (const double limit = parts_.update.dense().clip_norm(); limit > 0) {
    const uint64_t key = device::RepeatKey(device::Repeated::kClipping, clipped_squares_->Key(),
                                           limit, dense_.span(), factor_.data(), row_count > 0);
    parts_.stream.Repeat("clipping", key, [&] { ClipDense(limit, row_count > 0); });
  }
  // Of as many rows as the batch has: never the same twice.
  if (const double limit = parts_.update.rows().clip_norm(); limit > 0) {
    compute_.kernels->clip_norm(
        parts_.stream, limit, View(row_gradients_.device().first(used_row_gradients_)),
        View(row_squares_.device().first(used_row_squares_)), factor_.data());
  }
}

void StepFinisher::ClipDense(double limit, bool has_squares) {
  compute_.kernels->clip_norm(parts_.stream, limit, View(dense_.span()), {}, factor_.data());
  if (has_squares) clipped_squares_->Add(parts_.stream, factor_.data());
}

}  // namespace weir::worker
