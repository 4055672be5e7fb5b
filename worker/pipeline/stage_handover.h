// What a stage and those around it tell each other: batches that are handed on and back, what the
// coordinator says of the pipeline, and what it is to hear. In the right order: a batch waits for
// its way back before it leaves, and a generation is adopted once all of the one before is dropped.
//
// Place in the life of a batch: forward -> **the next stage**; backward -> **the one before**.
// Thread rule: any thread. Borrows its parts and the queue.
#pragma once

#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/proto/protocol.pb.h"
#include "common/transport/message.h"
#include "worker/pipeline/stage_parts.h"
#include "worker/pipeline/stage_queue.h"

namespace weir::worker {

class StageHandover {
 public:
  StageHandover(const StageParts& parts, StageQueue* queue) : parts_(parts), queue_(*queue) {}

  void TakeView(const v1::PipelineView& view);
  // Of the first stage, now and then: fails when it has waited too long.
  Status CheckSilence();

  // To the stage behind, unless its generation is over. A test batch does not come back through
  // this one, but for its scores.
  void HandOn(std::unique_ptr<StageBatch> batch, const std::vector<transport::Part>& body);
  // What goes back of it to the stage before; then that leaves.
  v1::Header BackwardHeader(const StageBatch& batch) const;
  void HandBack(const v1::Header& header, const std::vector<transport::Part>& body) {
    parts_.links->Send(header, body);
  }

 private:
  const StageParts& parts_;
  StageQueue& queue_;
};

}  // namespace weir::worker
