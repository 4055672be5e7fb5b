// What trainers that agree select from, of the paper's MLPs (dlrm_shape.h): DEFT's bins of pieces,
// and the selections that the section agree measures over them.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/compress/deft_packing.h"
#include "common/compress/host_range_select.h"
#include "common/compress/layer_ranges.h"
#include "tools/bench/heap_largest.h"

namespace weir::bench {

// As a trainer has them before it selects: all elements alike, so that norms are those of sizes.
class AgreeTensors {
 public:
  explicit AgreeTensors(double sparsity);

  std::span<const int64_t> sizes() const { return sizes_; }
  const std::vector<compress::Residual*>& residuals() const { return pointers_; }
  int64_t element_count() const { return compress::ElementsOfAll(sizes_); }
  int64_t kept() const;

 private:
  const double sparsity_;
  std::vector<int64_t> sizes_;
  std::vector<std::unique_ptr<compress::Residual>> owned_;
  std::vector<compress::Residual*> pointers_;
};

// What one selection takes: ranges, and how many elements of them.
struct AgreePart {
  std::vector<compress::LayerRange> ranges;
  size_t count = 0;
};
using AgreeShare = std::vector<AgreePart>;  // of one trainer

AgreeShare WholeShare(const AgreeTensors& tensors);

struct DeftShares {
  std::vector<AgreeShare> shares;  // a bin for each trainer
  double costliest = 0;            // of all bins, as the paper counts a heap
};
DeftShares PackDeftShares(const AgreeTensors& tensors, int trainers, compress::DeftCost cost);

class HeapSelection {
 public:
  HeapSelection(const AgreeTensors& tensors, AgreeShare share)
      : tensors_(tensors), share_(std::move(share)) {}

  void operator()() {
    for (const AgreePart& part : share_) {
      threshold_ = heap_.Select(tensors_.residuals(), part.ranges, part.count);
    }
  }
  float threshold() const { return threshold_; }  // of the last part

 private:
  const AgreeTensors& tensors_;
  AgreeShare share_;
  HeapLargest heap_;
  float threshold_ = 0;
};

// By our own selection, in the steady state: each part's last threshold is known.
class LinearSelection {
 public:
  LinearSelection(const AgreeTensors& tensors, AgreeShare share)
      : tensors_(tensors), share_(std::move(share)), select_(tensors.residuals()) {
    for (const AgreePart& part : share_) asks_.push_back({.ranges = part.ranges, .k = part.count});
  }

  void operator()();
  float threshold() const { return asks_.back().threshold; }

 private:
  const AgreeTensors& tensors_;
  AgreeShare share_;
  std::vector<compress::LargestAsk> asks_;  // of the share
  compress::HostRangeSelect select_;
  compress::LayerIndexes indexes_;
};

}  // namespace weir::bench
