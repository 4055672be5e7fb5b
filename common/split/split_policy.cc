#include "common/split/split_policy.h"

#include "common/base/check.h"
#include "common/split/split_policies.h"

namespace weir::split {

std::unique_ptr<SplitPolicy> MakeSplitPolicy(const v1::SplitConfig& split, uint64_t seed,
                                             const kernels::KernelTable& kernels) {
  const wire::ValueCoding values =
      split.values() == v1::BF16 ? wire::ValueCoding::kBf16 : wire::ValueCoding::kF32;
  switch (split.policy_case()) {
    case v1::SplitConfig::kNone:
      return MakeWhole(values);
    case v1::SplitConfig::kDctMp:
      return MakeDctMp(split.dct_mp(), values);
    case v1::SplitConfig::kRandomK:
      return MakeRandomK(split.random_k(), values, seed);
    case v1::SplitConfig::kQuantize:
      return MakeQuantize(split.quantize());
    case v1::SplitConfig::kGaussianSketch:
      return MakeGaussianSketch(split.gaussian_sketch(), values, seed, kernels);
    case v1::SplitConfig::kTopKGradient:
      return MakeTopKGradient(split.top_k_gradient(), values);
    case v1::SplitConfig::POLICY_NOT_SET:
      break;
  }
  LOG(FATAL) << "the defaults choose a policy";
  return nullptr;
}

std::unique_ptr<SplitPolicy> MakeWholePolicy() { return MakeWhole(wire::ValueCoding::kF32); }

std::string SplitPolicyName(const v1::SplitConfig& split) {
  const auto* field = split.GetDescriptor()->FindFieldByNumber(split.policy_case());
  return field == nullptr ? "" : field->name();
}

bool SendsAll(const v1::SplitConfig& split) {
  return split.has_none() || split.has_top_k_gradient() ||
         (split.has_dct_mp() && split.dct_mp().measure_only());
}

bool IsOfSampleAlone(const v1::SplitConfig& split) { return split.has_dct_mp() || SendsAll(split); }

}  // namespace weir::split
