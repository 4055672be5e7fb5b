// The sum of many reports of which some change: a binary tree with a report in each leaf and in
// each node above the sum of the two below. A report that changes makes the nodes above it stale,
// and the next sum makes those anew: as many as there are levels, not as many as there are reports.
//
// Place in the life of a batch: after it (progress, the final report).
// Thread rule: thread-compatible; owned by a report book.
#pragma once

#include <cstddef>
#include <vector>

#include "common/proto/report.pb.h"

namespace weir::cluster {

class ReportTree {
 public:
  // Leaves that were not set are empty reports. All fit each other, as metrics::MergeReports has
  // it.
  void Set(size_t leaf, v1::WorkerReport report);
  const v1::WorkerReport& Leaf(size_t leaf) const { return nodes_[leaf_count_ + leaf].report; }
  const v1::WorkerReport& Sum();

 private:
  struct Node {
    v1::WorkerReport report;
    bool is_stale = false;
  };

  void GrowTo(size_t leaf_count);
  const v1::WorkerReport& SumOf(size_t node);

  size_t leaf_count_ = 1;       // a power of two
  std::vector<Node> nodes_{2};  // [1] is the root, 2i and 2i + 1 are below i; then the leaves
};

}  // namespace weir::cluster
