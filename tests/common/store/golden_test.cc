// tests/golden/update_rules/update_rules.json holds what PyTorch's optimizers make of values of 1
// to 1.4 in 100 steps (make_golden.py beside it): with a gradient in every step, in 32 bits, and
// with gradients of zero in six of seven, which move the values all the same, in 64 bits.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "common/store/update_rule.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/store/store_test_support.h"

namespace weir::store {
namespace {

constexpr double kDenseError = 1e-6;
// Of what 64 bits give; in 32 bits a hundred steps round to more than the above, PyTorch's as well.
constexpr double kExactError = 4e-6;

struct Case {
  const char* name;
  const char* config;
};

constexpr Case kCases[] = {
    {"sgd", "sgd { learning_rate: 0.01 }"},
    {"sgd_decay", "sgd { learning_rate: 0.01 } weight_decay: 0.05"},
    {"momentum", "momentum { learning_rate: 0.01 }"},
    {"nesterov", "momentum { learning_rate: 0.01 nesterov: true }"},
    {"adam", "adam { learning_rate: 0.01 }"},
    {"adam_betas", "adam { learning_rate: 0.01 beta1: 0.8 beta2: 0.9 epsilon: 1e-5 }"},
    {"adamw", "adam { learning_rate: 0.01 } weight_decay: 0.05"},
};

class UpdateRuleGolden : public ::testing::TestWithParam<Case> {
 protected:
  UpdateRuleGolden()
      : golden_(nlohmann::json::parse(
            std::ifstream(WEIR_SOURCE_DIR "/tests/golden/update_rules/update_rules.json"))),
        count_(golden_["elements"]),
        step_count_(golden_["steps"]) {
    for (size_t i = 0; i < count_; ++i) values_.push_back(1 + static_cast<float>(i) / 64);
  }

  std::unique_ptr<const UpdateRule> Make(const std::string& more = "") {
    auto rule = MakeRule(GetParam().config + more);
    state_.resize(count_ * static_cast<size_t>(rule->StatePerElement()));
    rule->InitialState(count_, state_);
    return rule;
  }

  std::vector<float> Gradients(uint64_t step, bool sparse) const {
    std::vector<float> gradients(count_);
    for (size_t i = 0; i < count_; ++i) {
      if (sparse && (i * 5 + step * 11) % 7 > 0) continue;
      const auto hash = static_cast<int>((i * 7919 + step * 104729 + i * step * 31) % 513);
      gradients[i] = static_cast<float>(hash - 256) / 256;
    }
    return gradients;
  }

  // Where `which` is not zero, against PyTorch's values after `step`, if it wrote them down.
  void Compare(const std::string& kind, uint64_t step, const std::vector<float>& values,
               const std::vector<float>& which) {
    const nlohmann::json& kept = golden_[kind][GetParam().name];
    const auto expected = kept.find(std::to_string(step));
    if (expected == kept.end()) return;
    for (size_t i = 0; i < count_; ++i) {
      if (which[i] == 0) continue;
      const double value = (*expected)[i];
      const bool is_exact = kind == "sparse" || GetParam().name == std::string("adamw");
      const double error = is_exact ? kExactError : kDenseError;
      EXPECT_NEAR(values[i], value, error * std::max(1.0, std::abs(value)))
          << "element " << i << ", step " << step;
      ++compared_;
    }
  }

  const nlohmann::json golden_;
  const size_t count_;
  const uint64_t step_count_;
  std::vector<float> values_, state_;
  int compared_ = 0;
};

TEST_P(UpdateRuleGolden, AgreesStepForStepOnDenseGradients) {
  const auto rule = Make();
  for (uint64_t step = 1; step <= step_count_; ++step) {
    const std::vector<float> gradients = Gradients(step, false);
    rule->ApplyDense(values_, state_, gradients, step);
    Compare("dense", step, values_, gradients);
  }
  EXPECT_GT(compared_, 100);
}

TEST_P(UpdateRuleGolden, LazilyAgreesOnTheElementsThatAGradientTouchesWhenItDoes) {
  const auto rule = Make();
  for (uint64_t step = 1; step <= step_count_; ++step) {
    const std::vector<float> gradients = Gradients(step, true);
    std::vector<uint16_t> indexes;
    std::vector<float> selected;
    for (size_t i = 0; i < count_; ++i) {
      if (gradients[i] == 0) continue;
      indexes.push_back(static_cast<uint16_t>(i));
      selected.push_back(gradients[i]);
    }
    rule->ApplySparse(values_, state_, indexes, selected, step);
    Compare("sparse", step, values_, gradients);
  }
  EXPECT_GT(compared_, 10);
}

TEST_P(UpdateRuleGolden, WithDenseSemanticsAgreesOnAllElements) {
  const auto rule = Make(" dense_semantics: true");
  for (uint64_t step = 1; step <= step_count_; ++step) {
    rule->ApplyDense(values_, state_, Gradients(step, true), step);
    Compare("sparse", step, values_, std::vector<float>(count_, 1));
  }
  EXPECT_GT(compared_, 10);
}

TEST_P(UpdateRuleGolden, ARowThatIsReadAgreesHoweverLongItRested) {
  const auto rule = Make();
  // A row of each element, so that each rests by itself.
  const auto state_count = static_cast<size_t>(rule->StatePerRow(1));
  std::vector<std::vector<float>> states(count_, std::vector<float>(state_count));
  for (std::vector<float>& state : states) rule->InitialState(1, state);
  for (uint64_t step = 1; step <= step_count_; ++step) {
    const std::vector<float> gradients = Gradients(step, true);
    std::vector<float> read = values_;
    for (size_t i = 0; i < count_; ++i) {
      const std::span<float> row = std::span(values_).subspan(i, 1);
      if (gradients[i] != 0)
        rule->ApplyRow(row, states[i], std::span(gradients).subspan(i, 1), step);
      read[i] = values_[i];
      rule->CatchUp(std::span(read).subspan(i, 1), states[i], step);
    }
    Compare("sparse", step, read, std::vector<float>(count_, 1));
  }
  EXPECT_GT(compared_, 10);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, UpdateRuleGolden, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weir::store
