#include "tools/bench/select_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "common/compress/policy_table.h"
#include "common/config/defaults.h"

namespace weir::bench {
namespace {

using compress::PolicyState;
using compress::StepPlan;
using compress::StripeSelection;
using testing::HasSubstr;

constexpr int64_t kLayerElements = 3 * kStripeElements + 17;
constexpr uint32_t kLastFull = 2;  // of the stripes that have kStripeElements
constexpr uint64_t kWrongStep = 4;

// Another policy, but for what it does to one selection of one step.
class WrongOnce : public compress::Policy {
 public:
  using Tamper = std::function<void(StripeSelection* selection)>;

  WrongOnce(std::unique_ptr<const Policy> right, Tamper tamper)
      : right_(std::move(right)), tamper_(std::move(tamper)) {}

  std::string_view name() const override { return right_->name(); }
  bool keeps_residual() const override { return right_->keeps_residual(); }
  std::unique_ptr<PolicyState> MakeState(const compress::Scope& scope) const override {
    return right_->MakeState(scope);
  }
  StepPlan BeginStep(PolicyState& state, std::span<const float> gradient) const override {
    return right_->BeginStep(state, gradient);
  }
  bool SelectStripe(PolicyState& state, const StepPlan& plan, uint32_t stripe,
                    std::span<const float> gradient, bool wait,
                    StripeSelection* selection) const override {
    const bool done = right_->SelectStripe(state, plan, stripe, gradient, wait, selection);
    if (plan.step == kWrongStep && stripe == kLastFull) tamper_(selection);
    return done;
  }
  void EndStep(PolicyState& state, const StepPlan& plan, int64_t sent_count) const override {
    right_->EndStep(state, plan, sent_count);
  }
  void Accumulate(PolicyState& state, std::span<const float> gradient) const override {
    right_->Accumulate(state, gradient);
  }
  double threshold(const PolicyState& state) const override { return right_->threshold(state); }
  double discarded_l1(const PolicyState& state) const override {
    return right_->discarded_l1(state);
  }

 private:
  const std::unique_ptr<const Policy> right_;
  const Tamper tamper_;
};

class CheckedLayer : public testing::TestWithParam<wire::ValueCoding> {
 protected:
  SelectOptions Options() const {
    return {.rule = DctRule(99),
            .element_count = kLayerElements,
            .values = GetParam(),
            .encodes = true};
  }
  SelectLayer Right() { return SelectLayer(Options(), gradients_); }
  SelectLayer Wrong(WrongOnce::Tamper tamper) {
    v1::PolicyRule rule = DctRule(99);
    config::FillDefaults(&rule);
    return SelectLayer(Options(),
                       std::make_unique<WrongOnce>(compress::MakePolicy(rule), std::move(tamper)),
                       gradients_);
  }
  void ExpectDiffersFromPlainLoop(WrongOnce::Tamper tamper) {
    EXPECT_THAT(Wrong(std::move(tamper)).CheckAgainstPlainLoop(10).message(),
                HasSubstr("step 4 differs from the plain loop"));
  }

  Gradients gradients_{kLayerElements};
};
INSTANTIATE_TEST_SUITE_P(F32AndBf16, CheckedLayer,
                         testing::Values(wire::ValueCoding::kF32, wire::ValueCoding::kBf16));

TEST_P(CheckedLayer, IsAcceptedWhereItSelectsWhatAPlainLoopDoes) {
  const Status status = Right().CheckAgainstPlainLoop(10);
  EXPECT_TRUE(status.ok()) << status;
  const Status unharmed = Wrong([](StripeSelection*) {}).CheckAgainstPlainLoop(10);
  EXPECT_TRUE(unharmed.ok()) << unharmed;
}

TEST_P(CheckedLayer, IsRefusedForAnElementTooFew) {
  ExpectDiffersFromPlainLoop([](StripeSelection* selection) { --selection->count; });
  ExpectDiffersFromPlainLoop([](StripeSelection* selection) { selection->count = 0; });
}

TEST_P(CheckedLayer, IsRefusedForAnElementTooMany) {
  ExpectDiffersFromPlainLoop([](StripeSelection* selection) {
    const uint32_t last = selection->count++;
    selection->indexes[last] = static_cast<uint16_t>(kStripeElements - 1);
    selection->values[last] = 1;
  });
}

TEST_P(CheckedLayer, IsRefusedForAnotherIndex) {
  ExpectDiffersFromPlainLoop([](StripeSelection* selection) {
    selection->indexes[0] = static_cast<uint16_t>(selection->indexes[0] == 0 ? 1 : 0);
  });
}

TEST_P(CheckedLayer, IsRefusedForAnotherValue) {
  ExpectDiffersFromPlainLoop([](StripeSelection* selection) {
    float& value = selection->values[selection->count - 1];
    value = std::nextafter(value, 2.0f);
  });
  ExpectDiffersFromPlainLoop(
      [](StripeSelection* selection) { selection->values[0] = -selection->values[0]; });
}

TEST_P(CheckedLayer, IsRefusedForAPolicyThatSelectsByAnythingElse) {
  SelectOptions options = Options();
  options.rule = {};
  options.rule.mutable_strom()->set_threshold(1e-3);
  SelectLayer layer(options, gradients_);
  EXPECT_THAT(layer.CheckAgainstPlainLoop(10).message(), HasSubstr("differs from the plain loop"));
}

TEST_P(CheckedLayer, IsAcceptedWhereItsFramesHoldWhatItSelected) {
  SelectLayer layer = Right();
  layer.Steps(static_cast<int>(kWrongStep));
  for (int i = 0; i < 3; ++i) {
    const Status status = layer.CheckFrames();
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(CheckedLayer, IsRefusedWithoutFrames) {
  SelectOptions options = Options();
  options.encodes = false;
  SelectLayer layer(options, gradients_);
  layer.Steps(static_cast<int>(kWrongStep));
  EXPECT_THAT(layer.CheckFrames().message(), HasSubstr("0 of "));
}

// A value that no frame of such values holds.
TEST_P(CheckedLayer, IsRefusedWhereFramesHoldOtherValues) {
  if (GetParam() == wire::ValueCoding::kF32) GTEST_SKIP() << "they hold any value";
  SelectLayer layer = Wrong([](StripeSelection* selection) {
    selection->values[0] = std::nextafter(selection->values[0], 2.0f);
  });
  layer.Steps(static_cast<int>(kWrongStep));
  EXPECT_THAT(layer.CheckFrames().message(),
              HasSubstr("stripe 2 is not decoded as it was selected"));
}

TEST_P(CheckedLayer, IsRefusedForAnotherDensity) {
  SelectLayer layer = Right();
  for (const int other : {95, 98}) {
    layer.Steps(50);
    EXPECT_THAT(layer.CheckDensity(other).message(), HasSubstr("a density of ")) << other;
  }
  layer.Steps(50);
  const Status status = layer.CheckDensity(99);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(layer.CheckDensity(99).message(), HasSubstr("a density of ")) << "of no step";
}

}  // namespace
}  // namespace weir::bench
