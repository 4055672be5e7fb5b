#include "common/compress/policy_table.h"

#include "common/base/check.h"
#include "common/compress/policies.h"

namespace weir::compress {
namespace {

struct Entry {
  v1::PolicyRule::PolicyCase field;
  std::unique_ptr<const Policy> (*make)(const v1::PolicyRule&);
};

constexpr Entry kPolicies[] = {
    {v1::PolicyRule::kNone, MakeNone},
    {v1::PolicyRule::kDct, MakeDctDp},
    {v1::PolicyRule::kTopK, MakeTopK},
    {v1::PolicyRule::kRandomK, MakeRandomK},
    {v1::PolicyRule::kHardThreshold, MakeHardThreshold},
    {v1::PolicyRule::kSidco, MakeSidco},
    {v1::PolicyRule::kStrom, MakeStrom},
    {v1::PolicyRule::kVariance, MakeVariance},
    {v1::PolicyRule::kHybrid, MakeHybrid},
    {v1::PolicyRule::kQsgd, MakeQsgd},
    {v1::PolicyRule::kTerngrad, MakeTerngrad},
    {v1::PolicyRule::kOneBit, MakeOneBit},
    {v1::PolicyRule::kDeft, MakeDeft},
    {v1::PolicyRule::kExdyna, MakeExDyna},
    {v1::PolicyRule::kCltK, MakeCltK},
    {v1::PolicyRule::kUnionTopK, MakeUnionTopK},
    {v1::PolicyRule::kUnionHardThreshold, MakeUnionHardThreshold},
};

}  // namespace

std::unique_ptr<const Policy> MakePolicy(const v1::PolicyRule& rule) {
  for (const Entry& entry : kPolicies) {
    if (entry.field == rule.policy_case()) return entry.make(rule);
  }
  LOG(FATAL) << "validate_config lets no rule without a policy through: "
             << rule.ShortDebugString();
}

}  // namespace weir::compress
