// A step whose layers leave as soon as they are there. Each part is selected on the thread that
// computes, as all of a push is, and sent by the link's while that goes on.
//
// Place in the life of a batch: backward -> **select -> encode -> push**, layer after layer.
// Thread rule: one thread's, with its scratch. Borrows all that it is given.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/schedule/step_times.h"
#include "worker/client/push_groups.h"
#include "worker/client/step_gradients.h"
#include "worker/link/server_link.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {

class PushInParts final : public BegunPush {
 public:
  // The push has its credit.
  PushInParts(std::shared_ptr<const PartPlan> plan, const StepEncoder::Dense& dense,
              StepEncoder* encoder, ServerLink* link, StepEncoder::Scratch* scratch)
      : plan_(std::move(plan)),
        dense_(dense),
        encoder_(encoder),
        link_(link),
        scratch_(scratch),
        name_(link->NewPartsName()) {}

  void OnTensors(uint32_t begin, uint32_t end) override;

  const PartPlan& plan() const { return *plan_; }
  uint64_t name() const { return name_; }
  // Layers from this tensor on have left.
  uint32_t first_gone() const { return dense_.first_gone; }
  // Why a part did not.
  const Status& status() const { return status_; }
  // Once the rest has been selected: the times of the step's layers and selections.
  schedule::MeasuredStep TakeTimes();

 private:
  bool EndsPart(uint32_t begin) const;
  void AddSelection(double seconds);

  const std::shared_ptr<const PartPlan> plan_;
  StepEncoder::Dense dense_;
  StepEncoder* const encoder_;
  ServerLink* const link_;
  StepEncoder::Scratch* const scratch_;
  const uint64_t name_;
  size_t next_ = 0;  // of the plan's parts
  Status status_;
  schedule::MeasuredStep times_;
  double mark_seconds_ = MonotonicSeconds();  // when the last layer was whole, or had left
};

}  // namespace weir::worker
