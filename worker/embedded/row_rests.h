// The last steps of rows that a device has, under a rule that moves rows at rest: the host knows of
// each step which rows it is of, so it can say what they have missed before a device asks. Of steps
// that another stream has taken and not yet done, a read knows no more than of their gradients
// (common/base/hogwild.h): what such a row has missed may be a few steps off.
//
// Place in the life of a batch: **pull rows** ... backward -> **apply**.
// Thread rule: any thread. The rule outlives it, the device what it gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "common/device/buffers.h"
#include "common/kernels/rest.h"
#include "common/store/update_rule.h"

namespace weir::worker {

class RowRests {
 public:
  // Of none, where the rule moves nothing at rest.
  RowRests(const store::UpdateRule& rule, size_t row_count);
  bool empty() const { return last_.empty(); }

  // Of the rows with these numbers, uploaded in the stream: what they do before they are read as
  // they are after `step`; and before they take it, as their last.
  void UploadToRead(std::span<const uint32_t> numbers, uint64_t step, device::Device& device,
                    device::Stream& stream, device::Mirror<kernels::Rest>* rests) const;
  void UploadToStep(std::span<const uint32_t> numbers, uint64_t step, device::Device& device,
                    device::Stream& stream, device::Mirror<kernels::Rest>* rests);

  // The last float of a row's state, when no thread takes steps.
  float last(size_t number) const { return last_[number]; }
  void set_last(size_t number, float last) { last_[number] = last; }
  // All rows are as they were made until this step.
  void StartAt(uint64_t step);

 private:
  const store::UpdateRule& rule_;
  mutable Mutex mutex_;
  std::vector<float> last_;  // by number; steps hold the mutex
};

}  // namespace weir::worker
