#include "common/config/validate_compression.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/policy_rules.h"
#include "common/config/validate_policy.h"
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

void ValidateRule(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  if (rule.policy_case() == v1::PolicyRule::POLICY_NOT_SET) {
    violations->Add(path,
                    "has no policy; write none {} to send everything, or dct { sparsity: 0.99 }");
  }
  ValidatePolicy(path, rule, violations);
  if (!v1::ValueCoding_IsValid(rule.values())) {
    violations->Add(path + ".values", "unknown value ", rule.values(), "; choose F32 or BF16");
  }
}

// Whether the policy can serve what the rule is for.
void ValidateKind(const std::string& path, const v1::PolicyRule& rule, Violations* violations) {
  const std::string_view policy = PolicyName(rule);
  if (IsTable(rule.match()) && !policy.empty() && !rule.has_none() && !rule.has_lazy_rows()) {
    violations->Add(path, policy, " cannot serve ", Quoted(rule.match()),
                    ": it chooses elements, and rows go whole; use none {} or lazy_rows {}");
  }
  if (!IsTable(rule.match()) && rule.has_lazy_rows()) {
    violations->Add(path, policy,
                    " cannot serve the layers of MLPs; write layer { match: \"table/*\" ", policy,
                    " {} }, and another policy here");
  }
}

void ValidateRowCache(const v1::RowCacheConfig& cache, Violations* violations) {
  violations->RequireRange("compression.row_cache.rows", cache.rows(), 0, 1'000'000'000);
  violations->RequireRange("compression.row_cache.max_age", cache.max_age(), 2,
                           std::numeric_limits<int32_t>::max());
}

// Whether the rule serves any layer.
bool ValidatePattern(const std::string& path, const v1::CompressionConfig& compression,
                     const v1::PolicyRule& rule, const std::vector<std::string>& names,
                     Violations* violations) {
  const auto matches = [&](const std::string& name) {
    return PatternSelectsLayer(rule.match(), name);
  };
  const auto serves = [&](const std::string& name) {
    return &RuleForLayer(compression, name) == &rule;
  };
  if (std::ranges::any_of(names, serves)) return true;
  if (std::ranges::any_of(names, matches)) {
    violations->Add(
        path + ".match", Quoted(rule.match()),
        " matches only layers that earlier rules serve; put it before them, or remove it");
  } else {
    violations->Add(path + ".match", Quoted(rule.match()), " matches no layer; layers are named ",
                    SomeLayerNames(names));
  }
  return false;
}

}  // namespace

void ValidateCompression(const v1::Config& config, bool check_patterns, Violations* violations) {
  const v1::CompressionConfig& compression = config.compression();
  ValidateRowCache(compression.row_cache(), violations);
  ValidateRule("compression.default", compression.default_(), violations);
  ValidateKind("compression.default", compression.default_(), violations);
  if (!compression.default_().match().empty()) {
    violations->Add("compression.default.match", "the default serves every layer without a rule; ",
                    "remove match, or write a layer { ... } rule");
  }
  const auto names = check_patterns ? LayerNames(config) : std::vector<std::string>();
  for (int i = 0; i < compression.layer_size(); ++i) {
    const std::string path = StrCat("compression.layer[", i, "]");
    const v1::PolicyRule& rule = compression.layer(i);
    ValidateRule(path, rule, violations);
    if (rule.match().empty()) {
      violations->Add(path + ".match", "is empty; name a layer or a pattern, for example ",
                      "\"top/0/*\"");
    } else if (!check_patterns || ValidatePattern(path, compression, rule, names, violations)) {
      ValidateKind(path, rule, violations);
    }
  }
}

}  // namespace weir::config
