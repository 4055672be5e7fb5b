#include "worker/model/split_counts.h"

#include "common/split/split_policy.h"

namespace weir::model {

void SplitCounts::Add(const SplitCounts& other) {
  elements += other.elements;
  elements_sent += other.elements_sent;
  forward_bytes += other.forward_bytes;
  backward_bytes += other.backward_bytes;
  if (other.threshold) threshold = other.threshold;
}

void SplitCounts::FillReport(const v1::SplitConfig& split, v1::SplitReport* report) const {
  report->set_after(split.after());
  report->set_policy(split::SplitPolicyName(split));
  report->set_elements(elements);
  report->set_elements_sent(elements_sent);
  report->set_forward_bytes(forward_bytes);
  report->set_backward_bytes(backward_bytes);
  if (threshold) report->set_threshold(*threshold);
}

}  // namespace weir::model
