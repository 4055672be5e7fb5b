// Bytes on a worker's sockets by kind of frame, both directions: parts and their ZMTP headers
// (common/transport/message.h). Each body part holds frames of one kind; the header part counts for
// the first one's kind, and for control when there is no body. So the kinds add up to the total.
//
// Thread rule: any thread.
#pragma once

#include "common/base/mutex.h"
#include "common/metrics/run_parts.h"
#include "common/proto/report.pb.h"
#include "common/transport/message.h"

namespace weir::worker {

class WireMeter {
 public:
  void AddSent(const transport::Message& message);
  // Activations of a test batch.
  void AddSentForEvaluation(const transport::Message& message);
  void AddReceived(const transport::Message& message);
  // What 32-bit values without indexes would have cost.
  void AddDense(const v1::KindBytes& bytes);

  void FillReport(v1::WorkerReport* report) const;

 private:
  void Add(const transport::Message& message, v1::KindBytes* bytes);

  mutable Mutex mutex_;
  v1::KindBytes sent_ WEIR_GUARDED_BY(mutex_);
  v1::KindBytes received_ WEIR_GUARDED_BY(mutex_);
  v1::KindBytes dense_ WEIR_GUARDED_BY(mutex_);
  metrics::RunParts<2> answers_ WEIR_GUARDED_BY(mutex_);  // as 32-bit values of all, as they came
};

}  // namespace weir::worker
