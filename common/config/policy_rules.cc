#include "common/config/policy_rules.h"

#include <google/protobuf/descriptor.h>

namespace weir::config {
namespace {

const v1::PolicyRule& PlainRows() {
  static const v1::PolicyRule rule = [] {
    v1::PolicyRule plain;
    plain.mutable_none();
    plain.set_values(v1::F32);
    return plain;
  }();
  return rule;
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t star = std::string_view::npos;  // the last `*` passed
  size_t star_end = 0;                   // where its characters end so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool IsTable(std::string_view name_or_pattern) { return name_or_pattern.starts_with("table/"); }

bool PatternSelectsLayer(std::string_view pattern, std::string_view layer_name) {
  return IsTable(pattern) == IsTable(layer_name) && MatchesPattern(pattern, layer_name);
}

const v1::PolicyRule& RuleForLayer(const v1::CompressionConfig& compression,
                                   std::string_view layer_name) {
  for (const v1::PolicyRule& rule : compression.layer()) {
    if (PatternSelectsLayer(rule.match(), layer_name)) return rule;
  }
  return IsTable(layer_name) ? PlainRows() : compression.default_();
}

std::string_view PolicyName(const v1::PolicyRule& rule) {
  const auto* field = rule.GetDescriptor()->FindFieldByNumber(rule.policy_case());
  return field == nullptr ? std::string_view() : std::string_view(field->name());
}

}  // namespace weir::config
