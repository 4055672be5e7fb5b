#include "worker/client/push_in_parts.h"

#include <utility>

namespace weir::worker {

void PushInParts::OnTensors(uint32_t begin, uint32_t /*end*/) {
  const double whole_seconds = MonotonicSeconds();
  times_.layer_seconds.push_back(whole_seconds - std::exchange(mark_seconds_, whole_seconds));
  if (!EndsPart(begin)) return;
  auto bodies = encoder_->EncodePart(dense_, begin, scratch_);
  dense_.first_gone = begin;
  status_ = bodies.status();
  if (bodies.ok()) link_->SubmitPart(name_, *std::move(bodies));
  mark_seconds_ = MonotonicSeconds();
  AddSelection(mark_seconds_ - whole_seconds);
  ++next_;
}

bool PushInParts::EndsPart(uint32_t begin) const {
  return status_.ok() && next_ < plan_->ends.size() && begin <= plan_->ends[next_];
}

void PushInParts::AddSelection(double seconds) {
  const int64_t element_count = plan_->element_counts[next_];
  if (element_count > 0) times_.selections.push_back({element_count, seconds});
}

schedule::MeasuredStep PushInParts::TakeTimes() {
  AddSelection(scratch_->layers_seconds);
  times_.is_single = plan_->is_single();
  return std::move(times_);
}

}  // namespace weir::worker
