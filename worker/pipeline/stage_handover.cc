#include "worker/pipeline/stage_handover.h"

#include <utility>

#include "common/base/strings.h"

namespace weir::worker {

void StageHandover::TakeView(const v1::PipelineView& view) {
  const bool awaited_next = parts_.links->awaits_next();
  const StageQueue::Change change = queue_.TakeView(view);
  if (change.is_new) {
    if (change.was_ready) {
      LOG(WARNING) << "the stages of trainer " << parts_.trainer << " changed: " << change.dropped
                   << " batches under way are dropped" << change.missing;
    }
    if (change.revoked > 0) {
      LOG(WARNING) << "a stage was missing for too long: " << change.revoked
                   << " chunks of this trainer were given to others";
    }
    parts_.links->SetView(view);
    // Only then: a batch of this generation may come as soon as all have adopted it.
    parts_.tell_adopted(view.generation(), awaited_next);
  }
  if (change.is_back) {
    LOG(INFO) << "all stages of trainer " << parts_.trainer << " are there again";
  }
  if (!change.silent.empty()) {
    LOG(WARNING) << "batches of trainer " << parts_.trainer << " had not come back from "
                 << change.silent;
  }
}

Status StageHandover::CheckSilence() {
  const StageQueue::Silence silence = queue_.CheckSilence();
  if (!silence.notice.empty()) LOG(WARNING) << "trainer " << parts_.trainer << silence.notice;
  switch (silence.of_batches.verdict) {
    case SilenceWatch::Verdict::kFine:
      break;
    case SilenceWatch::Verdict::kStartOver:
      LOG(WARNING) << "trainer " << parts_.trainer << ": no batch has come back for "
                   << silence.of_batches.ms << " ms (cluster.answer_timeout_ms): starting over; "
                   << "the next stage is " << parts_.links->NextName();
      parts_.tell_lost(silence.generation);
      break;
    case SilenceWatch::Verdict::kGiveUp:
      return DeadlineExceeded(StrCat("no batch has come back from trainer ", parts_.trainer, " ",
                                     silence.silent, " for ", silence.of_batches.ms,
                                     " ms (cluster.join_timeout_ms); is its --link an address that "
                                     "stage ",
                                     silence.before, " reaches?"));
  }
  return OkStatus();
}

void StageHandover::HandOn(std::unique_ptr<StageBatch> batch,
                           const std::vector<transport::Part>& body) {
  v1::Header header;
  v1::StageForward& forward = *header.mutable_stage_forward();
  forward.set_trainer(parts_.trainer);
  forward.set_from_stage(parts_.stage);
  forward.set_generation(batch->generation);
  forward.set_batch(batch->number);
  *forward.mutable_name() = batch->name;
  const bool passes_through = batch->is_test() && parts_.stage > 0;
  if (passes_through) {
    queue_.GiveBack(std::move(batch));
  } else if (!queue_.Keep(std::move(batch))) {
    return;
  }
  parts_.links->Send(header, body);
}

v1::Header StageHandover::BackwardHeader(const StageBatch& batch) const {
  v1::Header header;
  v1::StageBackward& backward = *header.mutable_stage_backward();
  backward.set_trainer(parts_.trainer);
  backward.set_from_stage(parts_.stage);
  backward.set_generation(batch.generation);
  backward.set_batch(batch.number);
  return header;
}

}  // namespace weir::worker
