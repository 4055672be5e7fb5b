// Union hard threshold: the "hard-threshold" that DEFT and ExDyna are compared with (Yoon and Oh,
// ICPP 2023 and CCGrid 2024; their code: kljp/deft). Each trainer proposes all that
// |gradient + residual| >= threshold leaves of all layers of the rule, and every trainer sends the
// union. The threshold never changes, so nothing bounds what is sent. Zeros are never proposed. A
// trainer that agrees with nobody sends what it proposes: hard_threshold.
#include <memory>
#include <span>
#include <vector>

#include "common/compress/agreed_policy.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/policies.h"
#include "common/compress/range_select.h"

namespace weir::compress {
namespace {

class UnionHardThresholdProposer : public Proposer {
 public:
  UnionHardThresholdProposer(std::span<const int64_t> element_counts, float threshold)
      : ranges_(WholeLayers(element_counts)), threshold_(threshold) {}

  void Propose(const Turn& /*turn*/, RangeSelect& residuals, Proposal* proposal) override {
    *proposal = {.indexes = LayerIndexes(residuals.layer_count())};
    residuals.Reaching(ranges_, threshold_, &proposal->indexes);
  }
  void Learn(const Turn&, const Agreement&) override {}
  double threshold() const override { return threshold_; }

 private:
  const std::vector<LayerRange> ranges_;
  const float threshold_;
};

class UnionHardThreshold : public AgreedPolicy {
 public:
  explicit UnionHardThreshold(const v1::UnionHardThresholdPolicy& config)
      : threshold_(static_cast<float>(config.threshold())) {}

  std::string_view name() const override { return "union_hard_threshold"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<UnionHardThresholdProposer>(element_counts, threshold_);
  }
  double threshold(const PolicyState&) const override { return threshold_; }

 private:
  const float threshold_;
};

}  // namespace

std::unique_ptr<const Policy> MakeUnionHardThreshold(const v1::PolicyRule& rule) {
  return std::make_unique<UnionHardThreshold>(rule.union_hard_threshold());
}

}  // namespace weir::compress
