#include "common/base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

namespace weir {
namespace {

double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i];
    sum_b += b[i];
    sum_aa += a[i] * a[i];
    sum_bb += b[i] * b[i];
    sum_ab += a[i] * b[i];
  }
  const auto n = static_cast<double>(a.size());
  return (sum_ab - sum_a * sum_b / n) /
         std::sqrt((sum_aa - sum_a * sum_a / n) * (sum_bb - sum_b * sum_b / n));
}

std::vector<double> Units(RandomStream random, size_t count) {
  std::vector<double> units(count);
  for (double& unit : units) unit = random.NextUnit();
  return units;
}

TEST(Random, TheSplitMixFinaliserIsThePublishedOne) {
  // The first outputs of SplitMix64 from state 0.
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(Mix64(0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL);
}

TEST(Random, AKeyIsItsWordsInOrder) {
  EXPECT_EQ(KeyedHash(1, 2, 3), KeyedHash(1, 2, 3));
  const std::set<uint64_t> hashes = {KeyedHash(1),       KeyedHash(1, 2),    KeyedHash(2, 1),
                                     KeyedHash(1, 2, 3), KeyedHash(1, 3, 2), KeyedHash(1, 2, 0),
                                     KeyedHash(1, 0, 2), KeyedHash(0, 1, 2)};
  EXPECT_EQ(hashes.size(), 8u);
}

TEST(Random, OneBitOfTheKeyChangesHalfOfTheHash) {
  int flipped = 0;
  for (uint64_t word = 0; word < 1000; ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      flipped += std::popcount(KeyedHash(7, word) ^ KeyedHash(7, word ^ (uint64_t{1} << bit)));
    }
  }
  EXPECT_NEAR(flipped / 64'000.0, 32, 0.1);
}

TEST(Random, UnitsAreInRangeAndUniform) {
  EXPECT_EQ(UnitFromHash(0), 0);
  EXPECT_LT(UnitFromHash(~uint64_t{0}), 1);
  constexpr size_t kBins = 100, kDraws = 200'000;
  std::vector<int> bins(kBins);
  for (const double unit : Units(RandomStream(3), kDraws)) {
    ++bins[static_cast<size_t>(unit * kBins)];
  }
  double chi_squared = 0;
  for (const int count : bins) chi_squared += std::pow(count - 2000, 2) / 2000;
  EXPECT_LT(chi_squared, 150) << "99 degrees of freedom: above once in 1,000 seeds";
  EXPECT_GT(chi_squared, 60);
}

TEST(Random, NextBelowIsUniformAndBelow) {
  RandomStream random(5);
  for (const uint64_t bound : {1u, 2u, 3u, 7u, 1000u}) {
    std::vector<int> counts(bound);
    for (uint64_t i = 0; i < bound * 1000; ++i) ++counts.at(random.NextBelow(bound));
    for (const int count : counts) EXPECT_NEAR(count, 1000, 160) << bound;
  }
  EXPECT_LT(random.NextBelow(uint64_t{1} << 63), uint64_t{1} << 63);
}

TEST(Random, NormalsHaveTheMomentsOfANormal) {
  EXPECT_TRUE(std::isfinite(NormalFromHash(0)));
  EXPECT_TRUE(std::isfinite(NormalFromHash(~uint64_t{0})));
  RandomStream random(9);
  constexpr int kDraws = 400'000;
  double sum = 0, squares = 0, fourths = 0, beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.NextNormal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
    beyond_two += std::fabs(x) > 2;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.01);
  EXPECT_NEAR(fourths / kDraws, 3, 0.1);
  EXPECT_NEAR(beyond_two / kDraws, 0.0455, 0.0015);
}

TEST(Random, StreamsOfNeighbouringKeysAreUnrelated) {
  constexpr size_t kDraws = 50'000;  // a correlation of chance is about 0.0045
  const std::vector<double> base = Units(RandomStream(1, 5, 9), kDraws);
  EXPECT_EQ(base, Units(RandomStream(1, 5, 9), kDraws));
  for (const RandomStream& other :
       {RandomStream(1, 5, 10), RandomStream(1, 6, 9), RandomStream(2, 5, 9), RandomStream(1, 5)}) {
    EXPECT_LT(std::fabs(Correlation(base, Units(other, kDraws))), 0.02);
  }
  std::vector<double> later(base.begin() + 1, base.end());
  later.push_back(base.front());
  EXPECT_LT(std::fabs(Correlation(base, later)), 0.02);
}

TEST(Random, NoncesAreNeverZeroAndDoNotComeTwice) {
  std::set<uint64_t> nonces;
  for (int i = 0; i < 1000; ++i) nonces.insert(RandomNonce());
  EXPECT_EQ(nonces.size(), 1000u);
  EXPECT_FALSE(nonces.contains(0));
}

}  // namespace
}  // namespace weir
