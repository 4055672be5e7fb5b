#include "worker/client/push_in_parts.h"

#include <utility>

namespace weir::worker {

void PushInParts::OnTensors(uint32_t begin, uint32_t /*end*/) {
  if (!status_.ok() || next_ == ends_.size() || begin > ends_[next_]) return;
  ++next_;
  auto bodies = encoder_->EncodePart(dense_, begin, scratch_);
  dense_.first_gone = begin;
  status_ = bodies.status();
  if (bodies.ok()) link_->SubmitPart(name_, *std::move(bodies));
}

}  // namespace weir::worker
