#include "tools/bench/policy_candidates.h"

#include <utility>

namespace weir::bench {
namespace {

// Of gradients whose squares are those of their scales, about 1 % are beyond it.
constexpr double kAlpha = 6;

class CandidateList {
 public:
  v1::PolicyRule& Add(const char* name, double goal, bool is_exact = false) {
    return all_.emplace_back(PolicyCandidate{name, {}, goal, is_exact}).rule;
  }
  void AddSidco(const char* name, double goal, double sparsity,
                v1::SidcoPolicy::Distribution distribution, bool is_exact = false) {
    v1::SidcoPolicy& sidco = *Add(name, goal, is_exact).mutable_sidco();
    sidco.set_sparsity(sparsity);
    sidco.set_distribution(distribution);
  }
  std::vector<PolicyCandidate> Take() { return std::move(all_); }

 private:
  std::vector<PolicyCandidate> all_;
};

// Whose trainers agree; here one trainer is alone.
void AddAgreeing(double sparsity, double threshold, CandidateList* list) {
  list->Add("deft", 0, true).mutable_deft()->set_sparsity(sparsity);
  list->Add("exdyna", 0, true).mutable_exdyna()->set_sparsity(sparsity);
  list->Add("clt_k", 0, true).mutable_clt_k()->set_sparsity(sparsity);
  list->Add("union_top_k", 0, true).mutable_union_top_k()->set_sparsity(sparsity);
  list->Add("union_hard_threshold", 0).mutable_union_hard_threshold()->set_threshold(threshold);
}

}  // namespace

std::vector<PolicyCandidate> PolicyCandidates(double sparsity, double threshold) {
  CandidateList list;
  list.Add("hard_threshold", 1 / 1.3).mutable_hard_threshold()->set_threshold(threshold);
  list.Add("strom", 1 / 1.3).mutable_strom()->set_threshold(threshold);
  list.Add("hybrid", 1 / 1.3).mutable_hybrid()->set_threshold(threshold);
  list.Add("variance", 0).mutable_variance()->set_alpha(kAlpha);
  list.Add("qsgd", 0).mutable_qsgd()->set_bits(3);
  list.Add("terngrad", 0).mutable_terngrad();
  list.Add("one_bit", 0).mutable_one_bit();
  list.AddSidco("sidco", 0.5, sparsity, v1::SidcoPolicy::EXPONENTIAL);
  list.AddSidco("sidco_pareto", 0, sparsity, v1::SidcoPolicy::PARETO, true);
  list.AddSidco("sidco_gamma", 0, sparsity, v1::SidcoPolicy::GAMMA);
  list.Add("top_k", 0, true).mutable_top_k()->set_sparsity(sparsity);
  list.Add("random_k", 0, true).mutable_random_k()->set_sparsity(sparsity);
  AddAgreeing(sparsity, threshold, &list);
  return list.Take();
}

}  // namespace weir::bench
