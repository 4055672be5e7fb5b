#include "common/store/update_rule.h"

#include "common/base/check.h"
#include "common/store/update_rules.h"

namespace weir::store {
namespace {

struct Entry {
  v1::UpdateRule::RuleCase rule;
  std::unique_ptr<UpdateRule> (*make)(const v1::UpdateRule& config);
};

constexpr Entry kEntries[] = {
    {v1::UpdateRule::kSgd, MakeSgd},
    {v1::UpdateRule::kAdagrad, MakeAdagrad},
    {v1::UpdateRule::kRowwiseAdagrad, MakeRowwiseAdagrad},
    {v1::UpdateRule::kMomentum, MakeMomentum},
    {v1::UpdateRule::kAdam, MakeAdam},
};

}  // namespace

std::unique_ptr<UpdateRule> MakeUpdateRule(const v1::UpdateRule& config) {
  for (const Entry& entry : kEntries) {
    if (entry.rule == config.rule_case()) return entry.make(config);
  }
  LOG(FATAL) << "no update rule for field " << config.rule_case()
             << "; validate_config lets no such config through";
  return nullptr;
}

}  // namespace weir::store
