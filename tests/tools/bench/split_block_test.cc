#include "tools/bench/split_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "common/wire/value_coding.h"

namespace weir::bench {
namespace {

using testing::HasSubstr;

constexpr int64_t kKeep = 13;
constexpr int64_t kLastSample = Block::kSamples - 1;

// What a block and its gradient become on their way.
class ArrivedBlock : public testing::Test {
 protected:
  ArrivedBlock() {
    for (int64_t s = 0; s < Block::kSamples; ++s) {
      const std::vector<int64_t> order = LargestFirst(s);
      for (int64_t i = 0; i < Block::kWidth; ++i) {
        const bool is_kept = i < kKeep;
        const int64_t f = order[static_cast<size_t>(i)];
        arrived_.At(f, s) = is_kept ? wire::RoundToBf16(sent_.At(f, s)) : 0;
        gradient_arrived_.At(f, s) = is_kept ? wire::RoundToBf16(gradient_.At(f, s)) : 0;
      }
    }
  }

  std::vector<int64_t> LargestFirst(int64_t sample) {
    std::vector<int64_t> order(Block::kWidth);
    for (size_t f = 0; f < order.size(); ++f) order[f] = static_cast<int64_t>(f);
    std::ranges::sort(order, std::greater<>(), [&](int64_t f) { return sent_.At(f, sample); });
    return order;
  }

  Status Verify() { return VerifyLargest(kKeep, sent_, arrived_, gradient_, gradient_arrived_); }
  // After value is at that feature of the last sample, for as long as it is looked at.
  void ExpectRefused(Block* block, int64_t feature, float value) {
    float& element = block->At(feature, kLastSample);
    const float right = element;
    element = value;
    EXPECT_THAT(Verify().message(), HasSubstr("sample 127 arrived with a wrong feature"));
    element = right;
  }

  Block sent_{9}, gradient_{10}, arrived_{0}, gradient_arrived_{0};
};

TEST_F(ArrivedBlock, IsAcceptedWhenTheLargestAreThereRounded) {
  const Status status = Verify();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ArrivedBlock, IsRefusedWithoutTheLeastOfTheLargest) {
  const int64_t least = LargestFirst(kLastSample)[kKeep - 1];
  ExpectRefused(&arrived_, least, 0);
}

TEST_F(ArrivedBlock, IsRefusedWithOneThatIsNotAmongTheLargest) {
  const int64_t next = LargestFirst(kLastSample)[kKeep];
  ExpectRefused(&arrived_, next, sent_.At(next, kLastSample));
}

TEST_F(ArrivedBlock, IsRefusedWithAValueThatIsMoreThanRounded) {
  const int64_t largest = LargestFirst(kLastSample)[0];
  for (const float factor : {0.98f, 1.02f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    ExpectRefused(&arrived_, largest, factor * sent_.At(largest, kLastSample));
  }
}

TEST_F(ArrivedBlock, IsRefusedWithAGradientOfOtherElements) {
  const std::vector<int64_t> order = LargestFirst(kLastSample);
  gradient_.At(order[0], kLastSample) = gradient_arrived_.At(order[0], kLastSample) = 1;
  ASSERT_TRUE(Verify().ok());
  ExpectRefused(&gradient_arrived_, order[0], 0);
  ExpectRefused(&gradient_arrived_, order[0], 2);
  ExpectRefused(&gradient_arrived_, order[kKeep], 1);
}

TEST_F(ArrivedBlock, IsRefusedWhenSamplesAreInEachOthersPlaces) {
  for (int64_t f = 0; f < Block::kWidth; ++f) std::swap(arrived_.At(f, 5), arrived_.At(f, 6));
  EXPECT_THAT(Verify().message(), HasSubstr("sample 5 arrived with a wrong feature"));
}

}  // namespace
}  // namespace weir::bench
