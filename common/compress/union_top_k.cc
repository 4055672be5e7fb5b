// Union top-k with error feedback: the "Top-k" that DEFT and ExDyna are compared with (Yoon and
// Oh, ICPP 2023 and CCGrid 2024; their code: kljp/deft). Each trainer proposes the exact k largest
// of |gradient + residual| over all layers of the rule together, and every trainer sends the union.
// Trainers whose gradients differ propose different elements, so what is sent grows with their
// number, up to n times k: gradient build-up.
//
// k is what a share `sparsity` of all elements, rounded down, leaves: at least one (the code
// rounds k itself down, and may send nothing). Of elements just as large as the k-th those of the
// first layers are proposed, and of those the first ones; zeros never are. A trainer that agrees
// with nobody sends its own k.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/compress/agreed_policy.h"
#include "common/compress/kept_count.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/policies.h"
#include "common/compress/range_select.h"

namespace weir::compress {
namespace {

class UnionTopKProposer : public Proposer {
 public:
  UnionTopKProposer(std::span<const int64_t> element_counts, double sparsity)
      : ranges_(WholeLayers(element_counts)),
        kept_(static_cast<size_t>(KeptCount(ElementsOfAll(element_counts), sparsity))) {}

  void Propose(const Turn& /*turn*/, std::span<Residual* const> residuals,
               Proposal* proposal) override {
    *proposal = {.indexes = LayerIndexes(residuals.size())};
    threshold_ = select_.Largest(residuals, ranges_, kept_, threshold_, &proposal->indexes);
  }
  void Learn(const Turn&, const Agreement&) override {}
  double threshold() const override { return threshold_; }

 private:
  const std::vector<LayerRange> ranges_;
  const size_t kept_;
  RangeSelect select_;
  float threshold_ = 0;
};

class UnionTopK : public AgreedPolicy {
 public:
  explicit UnionTopK(const v1::UnionTopKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "union_top_k"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<UnionTopKProposer>(element_counts, sparsity_);
  }

 private:
  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeUnionTopK(const v1::PolicyRule& rule) {
  return std::make_unique<UnionTopK>(rule.union_top_k());
}

}  // namespace weir::compress
