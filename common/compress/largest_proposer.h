// Proposes the k largest of |gradient + residual| over all layers of a rule together, exactly. Of
// elements just as large as the k-th those of the first layers are proposed, and of those the first
// ones; zeros never are.
//
// Place in the life of a batch: residual += gradient -> **propose** -> select -> encode -> push.
// Thread rule: one step at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compress/layer_ranges.h"
#include "common/compress/proposer.h"
#include "common/compress/range_select.h"

namespace weir::compress {

class LargestProposer final : public Proposer {
 public:
  enum class Who { kEverybody, kLeader };

  // who: proposes in a step that trainers agree on.
  LargestProposer(std::span<const int64_t> element_counts, double sparsity, Who who);

  void Propose(const Turn& turn, RangeSelect& residuals, Proposal* proposal) override;
  void Learn(const Turn&, const Agreement&) override {}
  // Of the last step in which it proposed.
  double threshold() const override { return threshold_; }

 private:
  const std::vector<LayerRange> ranges_;
  const size_t kept_;
  const Who who_;
  float threshold_ = 0;
};

}  // namespace weir::compress
