#include "common/wire/rice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/wire/index_coding.h"
#include "common/wire/rice_groups.h"
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

// Of random positions the parameter is 4, 6 and 9 at 5, 1 and 0.1 %.
TEST(BestRice, HasTheParameterThatTheDensityAsksFor) {
  for (const auto& [density, parameter] : {std::pair(0.05, 4u), {0.01, 6u}, {0.001, 9u}}) {
    RandomStream random(7);
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < 2'000'000; ++i) {
      if (random.NextUnit() < density) numbers.push_back(i);
    }
    EXPECT_EQ(BestRice(std::span<const uint64_t>(numbers), 63).parameter, parameter) << density;
  }
}

using Gaps = std::vector<uint32_t>;

// docs/reference/wire_format.md: 0 is no change, odd numbers lead up, even ones down.
uint64_t ChangeBits(uint32_t from, uint32_t to) {
  return to > from ? 2 * (to - from) : 1 + 2 * (from - to);
}

uint64_t GroupBits(std::span<const uint32_t> group, uint32_t parameter) {
  uint64_t bits = 0;
  for (const uint32_t gap : group) bits += (gap >> parameter) + 1 + parameter;
  return bits;
}

// Gaps whose mean changes from group to group, or within them.
Gaps RandomGaps(RandomStream& random, size_t count) {
  Gaps gaps(count);
  double mean = 1;
  for (uint32_t& gap : gaps) {
    if (random.NextUnit() < 0.1) mean = std::pow(10.0, 6 * random.NextUnit() * random.NextUnit());
    gap = static_cast<uint32_t>(-std::log(1 - random.NextUnit()) * mean);
  }
  return gaps;
}

// A list and the parameters that were chosen for it.
struct Chosen {
  explicit Chosen(RandomStream& random)
      : gaps(RandomGaps(random, 1 + random.NextBelow(200))),
        bits(ChooseRiceParameters(gaps, &parameters)) {}

  Gaps gaps;
  std::vector<uint8_t> parameters;
  uint64_t bits;
};

TEST(RiceGroups, EachHasTheParameterThatTakesFewestBitsAfterTheOneBefore) {
  RandomStream random(5);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto [gaps, parameters, bits] = Chosen(random);
    ASSERT_EQ(parameters.size(), (gaps.size() + kRiceGroup - 1) / kRiceGroup);
    uint64_t expected = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const size_t begin = i * kRiceGroup;
      const auto group = std::span(gaps).subspan(begin, std::min(kRiceGroup, gaps.size() - begin));
      const uint32_t before = i > 0 ? parameters[i - 1] : 0u;
      const auto bits_of = [&group = group, before, i](uint32_t k) {
        return GroupBits(group, k) + (i > 0 ? ChangeBits(before, k) : 0);
      };
      for (uint32_t k = 0; k <= kMaxIndexRiceParameter; ++k) {
        ASSERT_LE(bits_of(parameters[i]), bits_of(k));
        if (k < parameters[i]) {
          ASSERT_LT(bits_of(parameters[i]), bits_of(k)) << "not the smallest";
        }
      }
      expected += bits_of(parameters[i]);
    }
    ASSERT_EQ(bits, expected);
  }
}

TEST(RiceGroups, ReadAsWritten) {
  RandomStream random(6);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto [gaps, parameters, bits] = Chosen(random);
    Bytes bytes((bits + 7) / 8 + BitWriter::kSlackBytes);
    BitWriter writer(bytes);
    WriteRiceGroups(gaps, parameters, &writer);
    ASSERT_EQ(writer.Finish(), (bits + 7) / 8);
    BitReader reader(ByteSpan(bytes).first(writer.Finish()));
    uint32_t parameter = parameters[0];
    for (size_t i = 0; i < gaps.size(); ++i) {
      if (i > 0 && i % kRiceGroup == 0) {
        const std::optional<uint32_t> next = ChangeRiceParameter(parameter, reader.ReadRice(0));
        ASSERT_TRUE(next.has_value());
        parameter = *next;
      }
      ASSERT_EQ(reader.ReadRice(parameter), gaps[i]);
    }
    ASSERT_TRUE(reader.ok());
    ASSERT_EQ(reader.bytes_consumed(), writer.Finish());
  }
}

TEST(RiceGroups, AParameterStaysWithinItsRange) {
  for (uint32_t from = 0; from <= kMaxIndexRiceParameter; ++from) {
    for (uint64_t code = 0; code < 200; ++code) {
      const auto step = static_cast<int64_t>((code + 1) / 2);
      const int64_t to = code % 2 == 1 ? from + step : from - step;
      const std::optional<uint32_t> changed = ChangeRiceParameter(from, code);
      ASSERT_EQ(changed.has_value(), to >= 0 && to <= kMaxIndexRiceParameter)
          << from << " " << code;
      if (changed.has_value()) {
        ASSERT_EQ(*changed, to);
      }
    }
    EXPECT_FALSE(ChangeRiceParameter(from, ~uint64_t{0}).has_value());
  }
}

TEST(RiceRun, TakesStripesThatAreNearerThanAHead) {
  RiceRun run;
  EXPECT_FALSE(run.MayJoin(0, Indexes{1}, 1000)) << "there is none";
  run.Add(7, Indexes{5, 4095});
  EXPECT_EQ(run.first_stripe(), 7u);
  EXPECT_EQ(run.count(), 2u);
  EXPECT_FALSE(run.MayJoin(7, Indexes{1}, 1000));
  EXPECT_FALSE(run.MayJoin(6, Indexes{1}, 1000));
  EXPECT_TRUE(run.MayJoin(8, Indexes{1}, 24));
  EXPECT_TRUE(run.MayJoin(8, Indexes{4095}, 24));
  EXPECT_TRUE(run.MayJoin(20, Indexes{0}, 24)) << "the way takes few bits with a wide parameter";
  EXPECT_FALSE(run.MayJoin(20, Indexes(256), 24)) << "and many with a narrow one";
  EXPECT_FALSE(run.MayJoin(5000, Indexes{0}, 24));
  EXPECT_TRUE(run.MayJoin(5000, Indexes{0}, 4000));
}

TEST(RiceRun, IsEmptyWhenItIsFinishedAndLeavesWhatWasThere) {
  RiceRun run;
  Bytes once, twice = {1, 2, 3};
  for (Bytes* const out : {&once, &twice}) {
    run.Add(3, Indexes{5, 6, 4000});
    run.Add(4, Indexes{0});
    run.Finish(run.ChooseParameters(), out);
    EXPECT_TRUE(run.empty());
  }
  once.insert(once.begin(), {1, 2, 3});
  EXPECT_EQ(once, twice);
}

}  // namespace
}  // namespace weir::wire
