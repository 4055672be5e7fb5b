#include "tools/bench/coded_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr uint32_t kCodedElements = 4 * kStripe;
constexpr size_t kLastElement = 3;  // of its stripes

TEST(Coder, AcceptsWhatArrivesAsItWasSelected) {
  for (const double density : {0.001, 0.05, 0.6}) {
    const Selection selection(kCodedElements, density);
    const Status status = Coder(selection).Verify();
    EXPECT_TRUE(status.ok()) << density << ": " << status;
  }
}

// No frame of bf16 values can hold it.
TEST(Coder, RefusesAValueThatArrivesRounded) {
  Selection selection(kCodedElements, 0.05);
  float& value = selection.stripes[kLastElement].values.back();
  value = std::nextafter(value, 2.0f);
  EXPECT_THAT(Coder(selection).Verify().message(), HasSubstr("stripe 3 is not what was encoded"));
}

class DecodedSelection : public testing::Test {
 protected:
  DecodedSelection() {
    coder_.Encode();
    EXPECT_TRUE(coder_.Decode().ok());
    EXPECT_TRUE(coder_.VerifyDecoded().ok());
  }

  // The coder compares with the selection as it is then.
  Selection selection_{kCodedElements, 0.05};
  Coder coder_{selection_};
};

TEST_F(DecodedSelection, IsRefusedForAnotherIndex) {
  ++selection_.stripes[kLastElement].indexes.back();
  EXPECT_THAT(coder_.VerifyDecoded().message(), HasSubstr("stripe 3 is not what was encoded"));
}

TEST_F(DecodedSelection, IsRefusedForAnotherValue) {
  selection_.stripes[0].values[0] *= 2;
  EXPECT_THAT(coder_.VerifyDecoded().message(), HasSubstr("stripe 0 is not what was encoded"));
}

TEST_F(DecodedSelection, IsRefusedForAnElementTooFewOrTooMany) {
  SelectedStripe& stripe = selection_.stripes[1];
  const SelectedStripe whole = stripe;
  stripe.indexes.pop_back();
  stripe.values.pop_back();
  EXPECT_THAT(coder_.VerifyDecoded().message(), HasSubstr("stripe 1 is not what was encoded"));
  stripe = whole;
  EXPECT_TRUE(coder_.VerifyDecoded().ok());
  stripe.indexes.push_back(kStripe - 1);
  stripe.values.push_back(1);
  EXPECT_THAT(coder_.VerifyDecoded().message(), HasSubstr("stripe 1 is not what was encoded"));
}

TEST_F(DecodedSelection, IsRefusedForAStripeThatDidNotArrive) {
  Selection first = selection_;
  first.stripes[2] = {};
  Coder coder(first);
  coder.Encode();
  ASSERT_TRUE(coder.Decode().ok());
  EXPECT_TRUE(coder.VerifyDecoded().ok());
  first.stripes[2] = selection_.stripes[2];
  EXPECT_THAT(coder.VerifyDecoded().message(), HasSubstr("stripe 2 is not what was encoded"));
}

}  // namespace
}  // namespace weir::bench
