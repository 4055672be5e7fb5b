#include "common/config/policy_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::config {
namespace {

TEST(MatchesPattern, TreatsStarAsAnyCharactersAndTheRestLiterally) {
  EXPECT_TRUE(MatchesPattern("top/0/weight", "top/0/weight"));
  EXPECT_FALSE(MatchesPattern("top/0/weight", "top/0/weights"));
  EXPECT_FALSE(MatchesPattern("top/0/weights", "top/0/weight"));
  EXPECT_TRUE(MatchesPattern("top/*", "top/0/weight"));
  EXPECT_TRUE(MatchesPattern("*/weight", "top/0/weight"));
  EXPECT_TRUE(MatchesPattern("top/*/bias", "top/12/bias"));
  EXPECT_FALSE(MatchesPattern("top/*/bias", "top/12/weight"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("**a**", "bab"));
  EXPECT_FALSE(MatchesPattern("", "a"));
  EXPECT_TRUE(MatchesPattern("", ""));
  EXPECT_FALSE(MatchesPattern("t?p/0", "top/0"));
}

TEST(MatchesPattern, TriesLaterPlacesForWhatFollowsAStar) {
  EXPECT_TRUE(MatchesPattern("*ab", "aab"));
  EXPECT_TRUE(MatchesPattern("a*bc*d", "abxbcxxd"));
  EXPECT_FALSE(MatchesPattern("a*bc*d", "abxbxcxd"));
}

TEST(MatchesPattern, TakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(2000, 'a')));
}

v1::CompressionConfig Rules() {
  v1::CompressionConfig compression;
  compression.mutable_default_()->mutable_none();
  compression.mutable_default_()->set_values(v1::BF16);
  for (const char* match : {"top/0/*", "top/*", "*"}) {
    v1::PolicyRule* rule = compression.add_layer();
    rule->set_match(match);
    rule->mutable_dct()->set_sparsity(0.9);
  }
  return compression;
}

TEST(RuleForLayer, TakesTheFirstThatMatches) {
  const v1::CompressionConfig compression = Rules();
  EXPECT_EQ(RuleForLayer(compression, "top/0/bias").match(), "top/0/*");
  EXPECT_EQ(RuleForLayer(compression, "top/1/bias").match(), "top/*");
  EXPECT_EQ(RuleForLayer(compression, "bottom/0/bias").match(), "*");
}

TEST(RuleForLayer, FallsBackToTheDefault) {
  v1::CompressionConfig compression = Rules();
  compression.clear_layer();
  EXPECT_EQ(&RuleForLayer(compression, "bottom/0/weight"), &compression.default_());
}

TEST(RuleForLayer, LeavesTablesAloneUnlessTheyAreNamed) {
  v1::CompressionConfig compression = Rules();
  const v1::PolicyRule& plain = RuleForLayer(compression, "table/C1");
  EXPECT_TRUE(plain.has_none());
  EXPECT_EQ(plain.values(), v1::F32);
  v1::PolicyRule* rule = compression.add_layer();
  rule->set_match("table/C*");
  rule->mutable_none();
  EXPECT_EQ(&RuleForLayer(compression, "table/C1"), rule);
}

TEST(PolicyName, IsTheWordOfTheConfig) {
  v1::PolicyRule rule;
  EXPECT_EQ(PolicyName(rule), "");
  rule.mutable_dct();
  EXPECT_EQ(PolicyName(rule), "dct");
  rule.mutable_none();
  EXPECT_EQ(PolicyName(rule), "none");
}

}  // namespace
}  // namespace weir::config
