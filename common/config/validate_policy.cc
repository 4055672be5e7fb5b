#include "common/config/validate_policy.h"

#include <bit>
#include <limits>
#include <string>

#include "common/config/policy_rules.h"

namespace weir::config {
namespace {

// Of any policy with such a field.
template <typename Policy>
void ValidateSparsity(const std::string& path, const Policy& policy, Violations* violations) {
  if (!policy.has_sparsity()) {
    violations->Add(path + ".sparsity", "is not set; give the share not sent, for example 0.99");
  } else if (!(policy.sparsity() >= 0 && policy.sparsity() < 1)) {
    violations->Add(path + ".sparsity", policy.sparsity(),
                    " is out of range; choose from 0 to below 1, for example 0.99");
  }
}

// The same. As a 32-bit number it must be above 0 and finite too.
template <typename Policy>
void ValidateThreshold(const std::string& path, const Policy& policy, Violations* violations) {
  constexpr double kLeast = 1e-30, kMost = 1e30;
  if (!policy.has_threshold()) {
    violations->Add(path + ".threshold",
                    "is not set; give it in units of the gradient, for example 0.001");
  } else {
    violations->RequireRange(path + ".threshold", policy.threshold(), kLeast, kMost);
  }
}

void ValidateDct(const std::string& path, const v1::DctPolicy& dct, Violations* violations) {
  ValidateSparsity(path, dct, violations);
  violations->RequireRange(path + ".lifespan", dct.lifespan(), 1,
                           std::numeric_limits<int32_t>::max());
  violations->RequireRange(path + ".drain_period", dct.drain_period(), 1,
                           std::numeric_limits<int64_t>::max());
  violations->RequireRange(path + ".drain_factor", dct.drain_factor(), 0.0, 1.0);
  if (!v1::DctPolicy::Start_IsValid(dct.start())) {
    violations->Add(path + ".start", "unknown value ", dct.start(), "; choose PAPER or DOUBLING");
  }
  if (!v1::DctPolicy::DrainMode_IsValid(dct.drain())) {
    violations->Add(path + ".drain", "unknown value ", dct.drain(),
                    "; choose NO_DRAIN, DISCARD, FLUSH or DECAY");
  }
  if (!v1::DctPolicy::Quantile_IsValid(dct.quantile())) {
    violations->Add(path + ".quantile", "unknown value ", dct.quantile(),
                    "; choose SAMPLED or SORTED");
  }
}

void ValidateSidco(const std::string& path, const v1::SidcoPolicy& sidco, Violations* violations) {
  ValidateSparsity(path, sidco, violations);
  violations->RequireRange(path + ".stages", sidco.stages(), 0, 32);
  if (!v1::SidcoPolicy::Distribution_IsValid(sidco.distribution())) {
    violations->Add(path + ".distribution", "unknown value ", sidco.distribution(),
                    "; choose EXPONENTIAL, GAMMA or PARETO");
  }
}

void ValidateDecay(const std::string& path, double decay, Violations* violations) {
  if (decay > 0 && decay <= 1) return;
  violations->Add(path + ".decay", decay,
                  " is out of range; choose from above 0 to 1, for example 0.999");
}

// Of variance and hybrid.
template <typename Policy>
void ValidateVarianceTest(const std::string& path, const Policy& policy, Violations* violations) {
  violations->RequireRange(path + ".alpha", policy.alpha(), 0.01, 100);
  ValidateDecay(path, policy.decay(), violations);
}

void ValidateHybrid(const std::string& path, const v1::HybridPolicy& hybrid,
                    Violations* violations) {
  ValidateThreshold(path, hybrid, violations);
  ValidateVarianceTest(path, hybrid, violations);
  if (!v1::HybridPolicy::Correction_IsValid(hybrid.correction())) {
    violations->Add(path + ".correction", "unknown value ", hybrid.correction(),
                    "; choose BEFORE or AFTER");
  }
}

// Of qsgd and one_bit.
template <typename Policy>
void ValidateBucket(const std::string& path, const Policy& policy, Violations* violations) {
  constexpr int32_t kLeast = 16, kMost = 4096;
  const int32_t bucket = policy.bucket();
  if (bucket < kLeast || bucket > kMost || !std::has_single_bit(static_cast<uint32_t>(bucket))) {
    violations->Add(path + ".bucket", bucket, " is no power of two from ", kLeast, " to ", kMost,
                    "; choose for example 512");
  }
}

void ValidateQsgd(const std::string& path, const v1::QsgdPolicy& qsgd, Violations* violations) {
  violations->RequireRange(path + ".bits", qsgd.bits(), 1, 8);
  ValidateBucket(path, qsgd, violations);
}

void ValidateLazyRows(const std::string& path, const v1::LazyRowsPolicy& lazy,
                      Violations* violations) {
  if (lazy.has_threshold()) {
    violations->RequireRange(path + ".threshold", lazy.threshold(), 0.0, 1e30);
  }
  if (lazy.has_alpha()) violations->RequireRange(path + ".alpha", lazy.alpha(), 0.01, 100);
  ValidateDecay(path, lazy.decay(), violations);
  violations->RequireRange(path + ".max_age", lazy.max_age(), 1,
                           std::numeric_limits<int32_t>::max());
  violations->RequireRange(path + ".max_rows", lazy.max_rows(), 1, 1'000'000'000);
}

void ValidateDeft(const std::string& path, const v1::DeftPolicy& deft, Violations* violations) {
  ValidateSparsity(path, deft, violations);
  if (!v1::DeftPolicy::Dealing_IsValid(deft.dealing())) {
    violations->Add(path + ".dealing", "unknown value ", deft.dealing(),
                    "; choose UNTIL_ALL_IS_DEALT or ONCE");
  }
  if (!v1::DeftPolicy::Cost_IsValid(deft.cost())) {
    violations->Add(path + ".cost", "unknown value ", deft.cost(), "; choose ELEMENTS or HEAP");
  }
}

void ValidateExdyna(const std::string& path, const v1::ExdynaPolicy& exdyna,
                    Violations* violations) {
  ValidateSparsity(path, exdyna, violations);
  violations->RequireRange(path + ".blocks", exdyna.blocks(), 1,
                           std::numeric_limits<int32_t>::max());
  if (!v1::ExdynaPolicy::Band_IsValid(exdyna.band())) {
    violations->Add(path + ".band", "unknown value ", exdyna.band(),
                    "; choose SYMMETRIC or UPWARD");
  }
  if (!v1::ExdynaPolicy::Start_IsValid(exdyna.start())) {
    violations->Add(path + ".start", "unknown value ", exdyna.start(),
                    "; choose QUANTILE or PAPER");
  }
}

// Of policies whose trainers agree on what leaves.
void ValidateAgreed(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  if (rule.has_deft()) ValidateDeft(path + ".deft", rule.deft(), violations);
  if (rule.has_exdyna()) ValidateExdyna(path + ".exdyna", rule.exdyna(), violations);
  if (rule.has_clt_k()) ValidateSparsity(path + ".clt_k", rule.clt_k(), violations);
  if (rule.has_union_top_k()) {
    ValidateSparsity(path + ".union_top_k", rule.union_top_k(), violations);
  }
  if (rule.has_union_hard_threshold()) {
    ValidateThreshold(path + ".union_hard_threshold", rule.union_hard_threshold(), violations);
  }
}

bool HasCodesOfItsOwn(const v1::PolicyRule& rule) {
  return rule.has_strom() || rule.has_variance() || rule.has_hybrid() || rule.has_qsgd() ||
         rule.has_terngrad() || rule.has_one_bit();
}

}  // namespace

void ValidatePolicy(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  if (rule.has_dct()) ValidateDct(path + ".dct", rule.dct(), violations);
  if (rule.has_top_k()) ValidateSparsity(path + ".top_k", rule.top_k(), violations);
  if (rule.has_random_k()) ValidateSparsity(path + ".random_k", rule.random_k(), violations);
  if (rule.has_hard_threshold()) {
    ValidateThreshold(path + ".hard_threshold", rule.hard_threshold(), violations);
  }
  if (rule.has_sidco()) ValidateSidco(path + ".sidco", rule.sidco(), violations);
  if (rule.has_strom()) ValidateThreshold(path + ".strom", rule.strom(), violations);
  if (rule.has_variance()) ValidateVarianceTest(path + ".variance", rule.variance(), violations);
  if (rule.has_hybrid()) ValidateHybrid(path + ".hybrid", rule.hybrid(), violations);
  if (rule.has_qsgd()) ValidateQsgd(path + ".qsgd", rule.qsgd(), violations);
  if (rule.has_terngrad()) {
    violations->RequireRange(path + ".terngrad.clip", rule.terngrad().clip(), 0.0, 100.0);
  }
  if (rule.has_one_bit()) ValidateBucket(path + ".one_bit", rule.one_bit(), violations);
  ValidateAgreed(path, rule, violations);
  if (rule.has_lazy_rows()) ValidateLazyRows(path + ".lazy_rows", rule.lazy_rows(), violations);
  if (HasCodesOfItsOwn(rule) && rule.values() == v1::BF16) {
    violations->Add(path + ".values", "BF16 is nothing to ", PolicyName(rule),
                    ", which sends codes of a few bits; remove it");
  }
}

}  // namespace weir::config
