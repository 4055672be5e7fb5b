// CLT-k, cyclic local top-k (ScaleCom, Chen et al., NeurIPS 2020; no public code): in every step
// one trainer, the leader, chooses its k largest of |gradient + residual| over all layers of the
// rule together, and every trainer sends those elements, whatever its own are. Trainers lead in
// turn. So n trainers send as many elements as one, and only the leader selects.
//
// k is what a share `sparsity` of all elements, rounded down, leaves: at least one. Of elements
// just as large as the k-th those of the first layers are chosen, and of those the first ones;
// zeros never are.
//
// Deviations: no low-pass filter of the residual (ScaleCom's beta is 1). A trainer that agrees with
// nobody leads every step of its own: it sends its k largest of all layers.
#include <memory>
#include <span>

#include "common/compress/agreed_policy.h"
#include "common/compress/kept_count.h"
#include "common/compress/layer_ranges.h"
#include "common/compress/policies.h"
#include "common/compress/range_select.h"

namespace weir::compress {
namespace {

class CltKProposer : public Proposer {
 public:
  CltKProposer(std::span<const int64_t> element_counts, double sparsity)
      : ranges_(WholeLayers(element_counts)),
        kept_(static_cast<size_t>(KeptCount(ElementsOfAll(element_counts), sparsity))) {}

  void Propose(const Turn& turn, std::span<Residual* const> residuals,
               Proposal* proposal) override {
    *proposal = {.indexes = LayerIndexes(residuals.size())};
    if (turn.agrees && turn.rank != turn.leader()) return;
    threshold_ = select_.Largest(residuals, ranges_, kept_, threshold_, &proposal->indexes);
  }
  void Learn(const Turn&, const Agreement&) override {}
  double threshold() const override { return threshold_; }

 private:
  const std::vector<LayerRange> ranges_;
  const size_t kept_;
  RangeSelect select_;
  float threshold_ = 0;  // of the last step that it led
};

class CltK : public AgreedPolicy {
 public:
  explicit CltK(const v1::CltKPolicy& config) : sparsity_(config.sparsity()) {}

  std::string_view name() const override { return "clt_k"; }
  std::unique_ptr<Proposer> MakeProposer(std::span<const int64_t> element_counts) const override {
    return std::make_unique<CltKProposer>(element_counts, sparsity_);
  }

 private:
  const double sparsity_;
};

}  // namespace

std::unique_ptr<const Policy> MakeCltK(const v1::PolicyRule& rule) {
  return std::make_unique<CltK>(rule.clt_k());
}

}  // namespace weir::compress
