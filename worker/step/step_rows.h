// The embedding rows of a thread's batches, where they are computed with. Those of the next batch
// may be brought there while a device computes the one at hand: in a buffer and a stream of their
// own.
//
// Place in the life of a batch: pull rows -> **rows** -> forward.
// Thread rule: thread-compatible, one for each thread. Owns the buffers, which grow to the largest
// batch so far; borrows the rest.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/device/buffers.h"
#include "common/kernels/compute.h"
#include "worker/client/parameter_client.h"

namespace weir::worker {

class StepRows {
 public:
  StepRows(const kernels::Compute& compute, device::Stream& stream, ParameterClient* client);

  // Waits for a batch's, [unique, dimension]. Good until the next batch's. What a device repeats
  // needs the same buffer each time, so it gets all of it.
  Result<device::Span<const float>> Await(RowPull* pull, size_t element_count);
  // The same of the batch behind it, before that is awaited: nothing where the client's rows must
  // not come early, or the device is the host.
  Status AwaitAhead(RowPull* pull, size_t element_count);
  // Whether those are there: Await takes them without a wait.
  bool are_ahead(const RowPull* pull) const { return ahead_ != nullptr && ahead_ == pull; }
  // Nobody wants those any more.
  void ForgetAhead() { ahead_ = nullptr; }

  // Of the batch at hand, where the host can read them.
  Result<std::span<const float>> OnHost();

 private:
  struct Batch {
    device::Mirror<float> rows;
    size_t used = 0;
  };
  Status Fill(RowPull* pull, size_t element_count, device::Stream& stream, Batch* batch);
  device::Span<const float> Used(const Batch& batch) const;

  const kernels::Compute compute_;
  device::Stream& stream_;
  ParameterClient& client_;
  const bool comes_ahead_;
  std::array<Batch, 2> batches_;
  size_t current_ = 0;
  RowPull* ahead_ = nullptr;  // whose rows the other batch has
  // Of what comes ahead.
  const std::unique_ptr<device::Stream> ahead_stream_;
  const std::unique_ptr<device::Event> arrived_;
};

}  // namespace weir::worker
