// One after the other, of several streams of a device: what one changes no other changes at the
// time, without anybody waiting on the host.
//
// Place in the life of a batch: pull rows ... backward -> **apply**.
// Thread rule: any thread, each with its own stream.
#pragma once

#include <memory>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/device/device.h"

namespace weir::device {

class StepOrder {
 public:
  explicit StepOrder(Device& device) : last_(device.MakeEvent()) {}

  // Calls enqueue(): what it enqueues happens after what was enqueued so before.
  template <typename Enqueue>
  void After(Stream& stream, const Enqueue& enqueue) {
    const MutexLock lock(mutex_);
    if (is_recorded_) stream.Wait(*last_);
    enqueue();
    stream.Record(last_.get());
    is_recorded_ = true;
  }

  // Until all that was enqueued so has happened.
  Status Synchronize() {
    const MutexLock lock(mutex_);
    return is_recorded_ ? last_->Synchronize() : OkStatus();
  }

 private:
  Mutex mutex_;
  bool is_recorded_ WEIR_GUARDED_BY(mutex_) = false;
  const std::unique_ptr<Event> last_;
};

}  // namespace weir::device
