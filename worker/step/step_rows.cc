#include "worker/step/step_rows.h"

namespace weir::worker {

StepRows::StepRows(const kernels::Compute& compute, device::Stream& stream, ParameterClient* client)
    : compute_(compute),
      stream_(stream),
      client_(*client),
      comes_ahead_(!compute.device->is_host() && client->rows_may_come_ahead()),
      ahead_stream_(comes_ahead_ ? compute.device->MakeStream() : nullptr),
      arrived_(comes_ahead_ ? compute.device->MakeEvent() : nullptr) {}

Result<device::Span<const float>> StepRows::Await(RowPull* pull, size_t element_count) {
  const bool is_there = ahead_ != nullptr && ahead_ == pull;
  ahead_ = nullptr;
  if (is_there) {
    current_ = 1 - current_;
    stream_.Wait(*arrived_);
  } else {
    WEIR_RETURN_IF_ERROR(Fill(pull, element_count, stream_, &batches_[current_]));
  }
  return Used(batches_[current_]);
}

Status StepRows::AwaitAhead(RowPull* pull, size_t element_count) {
  if (!comes_ahead_ || pull == nullptr || ahead_ != nullptr) return OkStatus();
  // What is uploaded from is written again.
  WEIR_RETURN_IF_ERROR(ahead_stream_->Synchronize());
  WEIR_RETURN_IF_ERROR(Fill(pull, element_count, *ahead_stream_, &batches_[1 - current_]));
  ahead_stream_->Record(arrived_.get());
  ahead_ = pull;
  return OkStatus();
}

Status StepRows::Fill(RowPull* pull, size_t element_count, device::Stream& stream, Batch* batch) {
  // With room for a larger one.
  if (batch->rows.size() < element_count) {
    batch->rows = {*compute_.device, element_count * 5 / 4, "embedding rows"};
  }
  batch->used = element_count;
  if (client_.has_rows_on_device()) {
    return client_.AwaitRowsOnDevice(pull, stream, batch->rows.device().first(element_count));
  }
  WEIR_RETURN_IF_ERROR(client_.AwaitRows(pull, batch->rows.host().first(element_count)));
  batch->rows.Upload(stream, element_count);
  return OkStatus();
}

device::Span<const float> StepRows::Used(const Batch& batch) const {
  const device::Span<float> all = batch.rows.device();
  return compute_.device->is_host() ? all.first(batch.used) : all;
}

Result<std::span<const float>> StepRows::OnHost() {
  const Batch& batch = batches_[current_];
  if (client_.has_rows_on_device()) {
    batch.rows.Download(stream_, batch.used);
    WEIR_RETURN_IF_ERROR(stream_.Synchronize());
  }
  return std::span<const float>(batch.rows.host()).first(batch.used);
}

}  // namespace weir::worker
