// The embedding rows of a run without servers, and their update rule's state: in this process's
// memory (host_rows.cc), or on a device that has memory of its own (device_rows.cc).
//
// Place in the life of a batch: **pull rows** ... **apply**.
// Thread rule: any thread; loading and saving when no thread takes steps. Pulls end before the rows
// do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/store/update_rule.h"
#include "worker/client/step_gradients.h"

namespace weir::worker {

class RowParameters {
 public:
  virtual ~RowParameters() = default;

  // Whether rows are read by ReadOnDevice, and gradients are the device's.
  virtual bool is_on_device() const = 0;

  // The batch outlives the pull. read_only: rows nobody has trained are not created.
  virtual std::unique_ptr<RowPull> Pull(const data::Batch& batch, bool read_only) = 0;

  // rows: [sum over tables of unique ids, dimension]; as they are after `step`.
  virtual Status Read(RowPull* pull, uint64_t step, std::span<float> rows) = 0;
  virtual Status ReadOnDevice(RowPull* pull, uint64_t step, device::Stream& stream,
                              device::Span<float> rows) = 0;

  // A step's gradients: of the rows of its pull or, without one, of its batch. On a device it has
  // one.
  virtual Status Apply(const StepGradients& gradients, uint64_t step) = 0;
  // Until all steps that were applied are in the rows: Apply may only enqueue.
  virtual Status AwaitSteps() { return OkStatus(); }

  // Rows that nobody has touched yet are, until this step, as they were made.
  virtual void StartAt(uint64_t step) = 0;
  // Of a saved model, a row; EndLoad comes after the last.
  virtual Status Load(uint32_t table, uint64_t id, std::span<const float> values,
                      std::span<const float> state) = 0;
  virtual Status EndLoad() = 0;
  // All rows that were trained, as they are after `step`, as frames.
  virtual Status Save(uint64_t step, const std::function<Status(ByteSpan frames)>& take) = 0;
};

// layout and rule outlive them, and so does the device.
std::unique_ptr<RowParameters> MakeHostRows(const v1::Config& config, const ModelLayout& layout,
                                            const store::UpdateRule& rule);
// Null where the device has no numbers for so many rows. Throws OutOfMemory.
std::unique_ptr<RowParameters> MakeDeviceRows(const ModelLayout& layout,
                                              const store::UpdateRule& rule,
                                              const kernels::Compute& compute);

}  // namespace weir::worker
