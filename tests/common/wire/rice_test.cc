#include "common/wire/rice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "common/base/random.h"
#include "common/wire/rice_run.h"
#include "tests/common/wire/frame_bytes.h"

namespace weir::wire {
namespace {

using Indexes = std::vector<uint16_t>;

TEST(BestRice, FindsTheBestParameterFor64BitNumbers) {
  RandomStream random(4);
  for (uint32_t width = 1; width <= 64; ++width) {
    std::vector<uint64_t> numbers(50);
    for (uint64_t& number : numbers) number = random.Next() >> (64 - width);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const std::span<const uint64_t> sorted = numbers;
    const RiceSize best = BestRice(sorted, 63);
    for (uint32_t parameter = width < 6 ? 0 : width - 6; parameter < 64; ++parameter) {
      ASSERT_LE(best.bits, RiceBits(sorted, parameter)) << width << " bits, k " << parameter;
    }
    ASSERT_EQ(best.bits, RiceBits(sorted, best.parameter));
  }
}

TEST(BestRice, DoesNotDependOnWhereTheSearchBegins) {
  const std::vector<uint64_t> sizes = {90, 70, 50, 50, 50, 60, 80};
  for (uint32_t start = 0; start < sizes.size(); ++start) {
    const RiceSize best = BestRiceFrom(start, 6, [&](uint32_t k) { return sizes[k]; });
    EXPECT_EQ(best.parameter, 2u) << start;
    EXPECT_EQ(best.bits, 50u);
  }
}

// The definition, without any shortcut.
RiceSize BestByDefinition(const std::vector<uint64_t>& elements, uint64_t next) {
  RiceSize best = {0, std::numeric_limits<uint64_t>::max()};
  for (uint32_t k = 0; k <= kMaxIndexRiceParameter; ++k) {
    uint64_t bits = 0, lowest = next;
    for (const uint64_t element : elements) {
      bits += ((element - lowest) >> k) + 1 + k;
      lowest = element + 1;
    }
    if (bits < best.bits) best = {k, bits};
  }
  return best;
}

TEST(RiceRun, KnowsItsBestSizeBeforeAndAfterAStripeJoins) {
  RandomStream random(5);
  StripeGaps gaps;
  for (int repeat = 0; repeat < 100; ++repeat) {
    RiceRun run;
    std::vector<uint64_t> elements;
    const auto first_stripe = static_cast<uint32_t>(random.NextBelow(100));
    uint32_t stripe = first_stripe;
    for (int joined = 0; joined < 6; ++joined) {
      const double density = random.NextUnit() * random.NextUnit() * random.NextUnit();
      const Indexes indexes = RandomIndexes(random, kMaxStripeElements, density);
      if (indexes.empty()) continue;
      if (elements.empty()) stripe = first_stripe;
      gaps.Assign(stripe, indexes);
      std::vector<uint64_t> alone;
      for (const uint16_t index : indexes) {
        alone.push_back(uint64_t{stripe} * kMaxStripeElements + index);
      }
      const uint64_t run_begin = uint64_t{first_stripe} * kMaxStripeElements;
      elements.insert(elements.end(), alone.begin(), alone.end());
      const RiceSize expected = BestByDefinition(elements, run_begin);
      const RiceSize size = run.SizeWith(gaps);
      ASSERT_EQ(size.bits, expected.bits);
      ASSERT_EQ(size.parameter, expected.parameter);
      const RiceSize alone_size = BestByDefinition(alone, uint64_t{stripe} * kMaxStripeElements);
      ASSERT_EQ(gaps.SizeAlone(3).bits, alone_size.bits);
      run.Add(gaps, size);
      ASSERT_EQ(run.count(), elements.size());
      ASSERT_EQ(run.first_stripe(), first_stripe);
      ASSERT_FALSE(run.MayJoin(stripe));
      stripe += 1 + static_cast<uint32_t>(random.NextBelow(40));
      ASSERT_TRUE(run.MayJoin(stripe));
    }
    if (run.empty()) continue;
    const size_t byte_count = run.size().bytes();
    Bytes bytes;
    run.Finish(&bytes);
    ASSERT_EQ(bytes.size(), byte_count);
    ASSERT_TRUE(run.empty());
  }
}

}  // namespace
}  // namespace weir::wire
