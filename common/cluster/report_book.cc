#include "common/cluster/report_book.h"

#include <utility>

#include "common/metrics/report.h"

namespace weir::cluster {
namespace {

// How old a sum may be, for each report in it: to make it takes some hundredths of a millisecond
// for each, so the share of a processor's time is the same however many there are.
constexpr int64_t kFreshMsOfReport = 5;

}  // namespace

Status ReportBook::Take(Seat seat, v1::WorkerReport report) {
  for (v1::LayerReport& layer : *report.mutable_layers()) {
    layer.clear_threshold_workers();
    layer.clear_residual_workers();
  }
  WEIR_RETURN_IF_ERROR(Know(report));
  if (!leaves_.contains(seat)) leaves_.Add(seat, TakeLeaf());
  SetLeaf(leaves_.at(seat), std::move(report));
  is_stale_ = true;
  return OkStatus();
}

// All must fit each other, so that there is a sum.
Status ReportBook::Know(const v1::WorkerReport& report) {
  WEIR_ASSIGN_OR_RETURN(const v1::WorkerReport sum, metrics::MergeReports(known_, report));
  for (int i = known_.layers_size(); i < sum.layers_size(); ++i) {
    v1::LayerReport& layer = *known_.add_layers();
    layer.set_name(sum.layers(i).name());
    layer.set_elements(sum.layers(i).elements());
  }
  return OkStatus();
}

size_t ReportBook::TakeLeaf() {
  if (free_leaves_.empty()) return leaf_count_++;
  const size_t leaf = free_leaves_.back();
  free_leaves_.pop_back();
  return leaf;
}

void ReportBook::SetLeaf(size_t leaf, v1::WorkerReport report) {
  tree_.Set(leaf, std::move(report));
  if (is_saved_) changed_leaves_.insert(leaf);
}

void ReportBook::CloseAll() {
  while (!leaves_.empty()) Close(leaves_.begin()->first);
}

void ReportBook::Close(Seat seat) {
  const auto found = leaves_.find(seat);
  if (found == leaves_.end()) return;
  const size_t leaf = found->second;
  v1::WorkerReport last = tree_.Leaf(leaf);
  metrics::ForgetGauges(&last);
  auto gone = metrics::MergeReports(tree_.Leaf(kGone), last);
  if (gone.ok()) SetLeaf(kGone, *std::move(gone));
  SetLeaf(leaf, {});
  free_leaves_.push_back(leaf);
  leaves_.Erase(seat);
  is_stale_ = true;
}

const v1::WorkerReport& ReportBook::Merged(int64_t now_ms) {
  const auto fresh_ms = kFreshMsOfReport * static_cast<int64_t>(leaves_.size());
  if (!is_stale_ || (merged_ms_ && now_ms - *merged_ms_ < fresh_ms)) return merged_;
  merged_ = MergedNow();
  merged_ms_ = now_ms;
  is_stale_ = false;
  return merged_;
}

const v1::WorkerReport& ReportBook::MergedNow() { return tree_.Sum(); }

}  // namespace weir::cluster
