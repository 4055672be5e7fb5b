// Selection on a card by the streams' events: a threshold that a sample gives is not awaited, and
// what a step selected stays until it is copied, whatever other streams do.
#include "common/compress/device_selector.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/compress/policy_table.h"
#include "google/protobuf/text_format.h"
#include "gpu/device/cuda_device.h"
#include "gpu/device/cuda_kernels.h"
#include "tests/gpu/card.h"
#include "tests/gpu/training/encoder_support.h"

namespace weir::compress {
namespace {

constexpr int64_t kElements = 9000;

// One layer of a card.
class CardLayer {
 public:
  explicit CardLayer(const std::string& rule) {
    v1::PolicyRule parsed;
    CHECK(google::protobuf::TextFormat::ParseFromString(rule, &parsed));
    policy_ = MakePolicy(parsed);
    scope_ = {.element_count = kElements, .seed = 3, .is_on_device = true};
    state_ = policy_->MakeState(scope_);
  }

  DeviceLayer layer() const {
    return {.name = "a layer", .policy = policy_.get(), .state = state_.get(), .scope = &scope_};
  }
  const kernels::Compute& compute() const { return compute_; }
  std::unique_ptr<device::Stream> MakeStream() const { return card_->MakeStream(); }
  device::Buffer<float> Put(const std::vector<float>& values) const {
    device::Buffer<float> buffer(*card_, values.size(), "a test");
    const auto stream = MakeStream();
    stream->CopyToDevice<float>(values, buffer.span());
    CHECK(stream->Synchronize().ok());
    return buffer;
  }

 private:
  std::unique_ptr<gpu::CudaDevice> card_ = test::OpenCard();
  kernels::Compute compute_ = gpu::CudaCompute(*card_, kernels::Precision::kF32, 64);
  std::unique_ptr<const Policy> policy_;
  Scope scope_;
  std::unique_ptr<PolicyState> state_;
};

std::vector<float> Drawn(uint64_t seed) {
  return test::RandomGradients(static_cast<size_t>(kElements), seed);
}

// Plans of two steps, of which the second must not run anything, and what comes of it.
class TwoPlans {
 public:
  explicit TwoPlans(const std::string& rule) : layer_(rule), layers_{layer_.layer()} {
    EXPECT_TRUE(planner_.Plan(*stream_, from_, &plans_).ok());  // makes room
    EXPECT_TRUE(stream_->Synchronize().ok());
    planner_.TakeRanks(plans_);
    test::FailAfterLaunches(0);
    second_ = planner_.Plan(*stream_, from_, &plans_);
    test::FailAfterLaunches(std::numeric_limits<uint64_t>::max());
  }
  ~TwoPlans() { test::ResetCard(); }

  const Status& second() const { return second_; }
  const StepPlan& EndOfSecond() {
    EXPECT_TRUE(stream_->Synchronize().ok());
    planner_.TakeRanks(plans_);
    return plans_[0];
  }
  std::vector<StepPlan>& plans() { return plans_; }

 private:
  const CardLayer layer_;
  const std::vector<DeviceLayer> layers_;
  const std::unique_ptr<device::Stream> stream_ = layer_.MakeStream();
  const device::Buffer<float> gradient_ = layer_.Put(Drawn(1));
  const device::Buffer<float> residual_ = layer_.Put(std::vector<float>(Drawn(1).size()));
  const kernels::SelectFrom from_{
      .gradient = gradient_.data(), .residual = residual_.data(), .square_sums = {}, .scales = {}};
  DevicePlanner planner_{layer_.compute(), layers_, {}};
  std::vector<StepPlan> plans_;
  Status second_;
};

TEST(DevicePlannerOnACard, DoesNotAwaitTheRankOfASample) {
  if (!test::kIsEmulated) GTEST_SKIP() << "a real one runs before anybody waits";
  TwoPlans dct("dct { sparsity: 0.99 lifespan: 1 controller: false }");
  ASSERT_TRUE(dct.second().ok()) << dct.second();
  EXPECT_EQ(dct.plans()[0].threshold, std::nullopt);
  std::vector<float> magnitudes = Drawn(1);
  for (float& magnitude : magnitudes) magnitude = std::fabs(magnitude);
  EXPECT_EQ(dct.EndOfSecond().threshold, RankedOf(magnitudes, {.sparsity = 0.99}));
}

// A sample that a policy itself looks at comes to the host.
TEST(DevicePlannerOnACard, AwaitsASample) {
  if (!test::kIsEmulated) GTEST_SKIP() << "a real one runs before anybody waits";
  EXPECT_FALSE(TwoPlans("sidco { sparsity: 0.99 }").second().ok());
}

// What steps of two streams sent, one behind the other.
class TwoStreams {
 public:
  TwoStreams() : selector_(layer_.compute(), {layer_.layer()}, kElements) {}

  // awaits: each step's before the next one begins.
  std::vector<float> Sent(bool awaits) {
    std::vector<float> sent;
    for (int round = 0; round < 3; ++round) {
      for (Step& step : steps_) {
        EXPECT_TRUE(selector_.Select(*step.stream, step.gradient.data(), &step.selection).ok());
        if (awaits) {
          EXPECT_TRUE(step.selection.Await().ok());
        }
      }
      for (Step& step : steps_) Append(&step.selection, &sent);
    }
    return sent;
  }

 private:
  struct Step {
    device::Buffer<float> gradient;
    std::unique_ptr<device::Stream> stream;
    DeviceSelection selection = {};
  };

  // With the offsets, that sent nothing be overlooked.
  static void Append(DeviceSelection* selection, std::vector<float>* sent) {
    EXPECT_TRUE(selection->Await().ok());
    for (size_t stripe = 0; stripe < selection->ends.size(); ++stripe) {
      const auto of_stripe = selection->stripe(stripe);
      sent->insert(sent->end(), of_stripe.values.begin(), of_stripe.values.end());
      sent->insert(sent->end(), of_stripe.offsets.begin(), of_stripe.offsets.end());
    }
  }

  const CardLayer layer_{"dct { sparsity: 0.9 lifespan: 2 }"};
  DeviceSelector selector_;
  std::array<Step, 2> steps_ = {Step{layer_.Put(Drawn(1)), layer_.MakeStream()},
                                Step{layer_.Put(Drawn(2)), layer_.MakeStream()}};
};

TEST(DeviceSelectorOnACard, KeepsWhatAStepSelectedUntilItIsCopied) {
  WEIR_SKIP_WITHOUT_A_CARD();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    test::SetCardOrder(seed);
    const std::vector<float> expected = TwoStreams().Sent(true);
    EXPECT_GT(expected.size(), 3000u);
    EXPECT_EQ(TwoStreams().Sent(false), expected);
  }
}

}  // namespace
}  // namespace weir::compress
