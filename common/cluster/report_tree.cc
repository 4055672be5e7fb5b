#include "common/cluster/report_tree.h"

#include <bit>
#include <utility>

#include "common/base/check.h"
#include "common/metrics/report.h"

namespace weir::cluster {

void ReportTree::Set(size_t leaf, v1::WorkerReport report) {
  if (leaf >= leaf_count_) GrowTo(std::bit_ceil(leaf + 1));
  size_t node = leaf_count_ + leaf;
  nodes_[node].report = std::move(report);
  while ((node /= 2) >= 1) nodes_[node].is_stale = true;
}

const v1::WorkerReport& ReportTree::Sum() { return SumOf(1); }

const v1::WorkerReport& ReportTree::SumOf(size_t node) {
  Node& sum = nodes_[node];
  if (!std::exchange(sum.is_stale, false)) return sum.report;
  auto merged = metrics::MergeReports(SumOf(2 * node), SumOf(2 * node + 1));
  CHECK(merged.ok()) << merged.status();
  sum.report = *std::move(merged);
  return sum.report;
}

void ReportTree::GrowTo(size_t leaf_count) {
  std::vector<Node> nodes(2 * leaf_count);
  for (size_t leaf = 0; leaf < leaf_count_; ++leaf) {
    nodes[leaf_count + leaf] = std::move(nodes_[leaf_count_ + leaf]);
  }
  for (size_t node = 1; node < leaf_count; ++node) nodes[node].is_stale = true;
  nodes_ = std::move(nodes);
  leaf_count_ = leaf_count;
}

}  // namespace weir::cluster
