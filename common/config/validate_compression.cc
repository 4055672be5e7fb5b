#include "common/config/validate_compression.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "common/config/policy_rules.h"
#include "common/layout/model_layout.h"

namespace weir::config {
namespace {

std::string Quoted(const std::string& text) { return StrCat("\"", text, "\""); }

std::vector<std::string> LayerNames(const v1::Config& config) {
  const ModelLayout layout(config, 1);
  std::vector<std::string> names;
  for (const TensorSpec& tensor : layout.tensors()) names.push_back(tensor.name);
  for (const TableSpec& table : layout.tables()) names.push_back(StrCat("table/", table.name));
  return names;
}

// Enough of the names to show their form: the first two, and the last of each kind.
std::string SomeLayerNames(const std::vector<std::string>& names) {
  const auto first_table =
      std::find_if(names.begin(), names.end(), [](const auto& name) { return IsTable(name); });
  std::vector<std::string> some(names.begin(), names.begin() + 2);
  some.push_back(*(first_table - 1));
  if (first_table != names.end()) some.push_back(names.back());
  return StrJoin(some, ", ");
}

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
  if (!v1::DctPolicy::Start_IsValid(dct.start())) {
    violations->Add(path + ".start", "unknown value ", dct.start(), "; choose PAPER or DOUBLING");
  }
  if (!v1::DctPolicy::DrainMode_IsValid(dct.drain())) {
    violations->Add(path + ".drain", "unknown value ", dct.drain(),
                    "; choose NO_DRAIN, DISCARD or FLUSH");
  }
}

void ValidateStrom(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  ValidateThreshold(path + ".strom", rule.strom(), violations);
  if (rule.values() == v1::BF16) {
    violations->Add(path + ".values", "BF16 is nothing to strom, which sends signs; remove it");
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

void ValidateRule(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  if (rule.policy_case() == v1::PolicyRule::POLICY_NOT_SET) {
    violations->Add(path,
                    "has no policy; write none {} to send everything, or dct { sparsity: 0.99 }");
  }
  if (rule.has_dct()) ValidateDct(path + ".dct", rule.dct(), violations);
  if (rule.has_top_k()) ValidateSparsity(path + ".top_k", rule.top_k(), violations);
  if (rule.has_random_k()) ValidateSparsity(path + ".random_k", rule.random_k(), violations);
  if (rule.has_hard_threshold()) {
    ValidateThreshold(path + ".hard_threshold", rule.hard_threshold(), violations);
  }
  if (rule.has_sidco()) ValidateSidco(path + ".sidco", rule.sidco(), violations);
  if (rule.has_strom()) ValidateStrom(path, rule, violations);
  if (!v1::ValueCoding_IsValid(rule.values())) {
    violations->Add(path + ".values", "unknown value ", rule.values(), "; choose F32 or BF16");
  }
}

// Rows have no residual: nothing may be left out or rounded.
void ValidateTableRule(const std::string& path, const v1::PolicyRule& rule,
                       Violations* violations) {
  if (!PolicyName(rule).empty() && !rule.has_none()) {
    violations->Add(path, PolicyName(rule), " cannot serve ", Quoted(rule.match()),
                    ": rows of a table have no residual; use none {}");
  }
  if (rule.values() == v1::BF16) {
    violations->Add(path + ".values", "BF16 cannot serve ", Quoted(rule.match()),
                    ": rows are sent as F32; remove it");
  }
}

void ValidatePattern(const std::string& path, const std::string& pattern,
                     const std::vector<std::string>& names, Violations* violations) {
  const bool any = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return PatternSelectsLayer(pattern, name);
  });
  if (any) return;
  violations->Add(path + ".match", Quoted(pattern), " matches no layer; layers are named ",
                  SomeLayerNames(names));
}

}  // namespace

void ValidateCompression(const v1::Config& config, bool check_patterns, Violations* violations) {
  const v1::CompressionConfig& compression = config.compression();
  ValidateRule("compression.default", compression.default_(), violations);
  if (!compression.default_().match().empty()) {
    violations->Add("compression.default.match", "the default serves every layer without a rule; ",
                    "remove match, or write a layer { ... } rule");
  }
  const auto names = check_patterns ? LayerNames(config) : std::vector<std::string>();
  for (int i = 0; i < compression.layer_size(); ++i) {
    const std::string path = StrCat("compression.layer[", i, "]");
    const v1::PolicyRule& rule = compression.layer(i);
    ValidateRule(path, rule, violations);
    if (IsTable(rule.match())) ValidateTableRule(path, rule, violations);
    if (rule.match().empty()) {
      violations->Add(path + ".match", "is empty; name a layer or a pattern, for example ",
                      "\"top/0/*\"");
    } else if (check_patterns) {
      ValidatePattern(path, rule.match(), names, violations);
    }
  }
}

}  // namespace weir::config
