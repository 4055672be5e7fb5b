// RangeSelect of residuals on the host (residual.h), stripe by stripe.
//
// Place in the life of a batch: residual += gradient -> **select** -> propose.
// Thread rule: thread-compatible; other threads may be at the residuals, stripe by stripe. Keeps
// its lists, which have grown, from one selection to the next. Borrows the residuals.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "common/compress/candidates.h"
#include "common/compress/range_select.h"
#include "common/compress/residual.h"

namespace weir::compress {

class HostRangeSelect final : public RangeSelect {
 public:
  // residuals: of each layer.
  explicit HostRangeSelect(std::vector<Residual*> residuals) : residuals_(std::move(residuals)) {}

  size_t layer_count() const override { return residuals_.size(); }
  std::vector<double> Norms(std::span<const LayerRange> ranges) override;
  size_t Reaching(std::span<const LayerRange> ranges, float threshold,
                  LayerIndexes* indexes) override;
  void Largest(std::span<LargestAsk> asks, LayerIndexes* indexes) override;

 private:
  void Collect(std::span<const LayerRange> ranges, float least);
  void Append(std::span<const LayerRange> ranges, float threshold, size_t ties,
              LayerIndexes* indexes) const;
  void FindLargest(LargestAsk* ask, LayerIndexes* indexes);

  const std::vector<Residual*> residuals_;
  Candidates candidates_;
  std::vector<size_t> ends_;  // of each range's candidates
};

}  // namespace weir::compress
