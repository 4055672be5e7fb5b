#include "tools/bench/code_apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/config/defaults.h"

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr float kLearningRate = 0.01f;
constexpr uint32_t kAppliedElements = 2 * kStripe;

class ApplyVerification : public testing::Test {
 protected:
  // Of a push of sent, taken for one of said, to a new piece.
  Status Verify(const Selection& said, const Selection& sent,
                const std::function<float(float)>& step) {
    Coder coder(sent);
    coder.Encode();
    v1::UpdateRule rule;
    rule.mutable_sgd()->set_learning_rate(kLearningRate);
    ApplyTarget target(layout_, kAppliedElements, rule);
    return VerifyApply(said, coder.bytes(), target, step);
  }
  static float Sgd(float gradient) { return kLearningRate * gradient; }

  const ModelLayout layout_ = SquareLayout();
  const Selection selection_{kAppliedElements, 0.05};
};

TEST_F(ApplyVerification, AcceptsWhatTheRuleSays) {
  const Status status = Verify(selection_, selection_, Sgd);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ApplyVerification, RefusesAnotherStep) {
  for (const float factor : {0.0f, -1.0f, 0.99f, 1.01f, std::nanf("")}) {
    const Status status =
        Verify(selection_, selection_, [&](float gradient) { return factor * Sgd(gradient); });
    EXPECT_THAT(status.message(), HasSubstr("was not updated as its rule says")) << factor;
  }
}

TEST_F(ApplyVerification, RefusesAnElementThatOnlyOneOfBothHas) {
  Selection more = selection_;
  more.stripes[1].indexes = {7};
  more.stripes[1].values = {1};
  Selection without = more;
  without.stripes[1] = {};
  constexpr char kRefused[] = "element 4103 was not updated";
  EXPECT_THAT(Verify(without, more, Sgd).message(), HasSubstr(kRefused)) << "to be left alone";
  EXPECT_THAT(Verify(more, without, Sgd).message(), HasSubstr(kRefused)) << "to be updated";
}

TEST_F(ApplyVerification, TellsOfAFrameThatCannotBeRead) {
  Coder coder(selection_);
  coder.Encode();
  Bytes damaged = coder.bytes();
  damaged.back() ^= 1;
  v1::UpdateRule rule;
  rule.mutable_sgd()->set_learning_rate(kLearningRate);
  ApplyTarget target(layout_, kAppliedElements, rule);
  EXPECT_FALSE(VerifyApply(selection_, damaged, target, Sgd).ok());
}

}  // namespace
}  // namespace weir::bench
