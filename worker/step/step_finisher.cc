#include "worker/step/step_finisher.h"

#include "worker/step/clip_norm.h"

namespace weir::worker {
namespace {

// With room for a larger batch, where it has to grow.
std::span<float> FirstOf(tensor::AlignedBuffer* buffer, size_t count) {
  if (buffer->size() < count) *buffer = tensor::AlignedBuffer(count * 5 / 4);
  return buffer->span().first(count);
}

}  // namespace

StepFinisher::StepFinisher(const Parts& parts)
    : parts_(parts),
      dimension_(static_cast<size_t>(parts.layout.embedding_dimension())),
      clipped_squares_(parts.update.dense().clip_norm() > 0
                           ? std::optional<ClippedSquares>(parts.client->square_sums())
                           : std::nullopt),
      dead_units_(parts.dead_units),
      dense_(static_cast<size_t>(parts.layout.flat_element_count())),
      needs_row_squares_(parts.client->needs_row_squares()) {}

compress::SquareSumsOfTensors StepFinisher::square_sums() {
  return clipped_squares_ ? clipped_squares_->of_step() : parts_.client->square_sums();
}

std::span<float> StepFinisher::Rows(size_t element_count) { return FirstOf(&rows_, element_count); }

model::GradientBuffers StepFinisher::Gradients(size_t row_element_count) {
  used_row_gradients_ = FirstOf(&row_gradients_, row_element_count);
  if (needs_row_squares_) row_squares_.resize(row_element_count / dimension_);
  return {dense_.data(), used_row_gradients_, row_squares_};
}

Result<uint64_t> StepFinisher::Finish(StepGradients step, double logloss_sum, ChunkWork* chunk,
                                      const ChunkWork::BatchRange& range) {
  const int64_t row_count = step.batch->row_count;
  dead_units_.Add(dense_.span(), row_count);
  Clip(row_count);
  step.dense = dense_.span();
  step.rows = used_row_gradients_;
  step.row_squares = row_squares_;
  if (chunk != nullptr) {
    step.lease = chunk->lease().lease();
    step.offset = chunk->FinishedRows(step.mark.accepted_sequence);
  }
  WEIR_ASSIGN_OR_RETURN(const uint64_t sequence, parts_.client->Push(step));
  if (chunk == nullptr) return sequence;
  // Counted before it is finished: whoever waits for the chunk reports it next.
  parts_.counters->AddStep(step.batch->labels, logloss_sum);
  chunk->Finish(range, sequence);
  return sequence;
}

void StepFinisher::Clip(int64_t row_count) {
  const float factor = ClipNorm(parts_.update.dense().clip_norm(), dense_.span());
  if (clipped_squares_ && row_count > 0) clipped_squares_->Add(factor);
  ClipNorm(parts_.update.rows().clip_norm(), used_row_gradients_, row_squares_);
}

}  // namespace weir::worker
