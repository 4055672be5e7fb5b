#include "worker/data/synthetic_features.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/base/check.h"
#include "common/base/random_streams.h"
#include "worker/data/dense_transform.h"

namespace weir::data {
namespace {

// Share of a feature's variance that the hidden factors explain.
constexpr double kFactorVariance = 0.4;

// Ids stay writable as Criteo's 8 hexadecimal digits.
constexpr uint64_t kMaxIdCount = 0xffffffff;

// Id spaces, dealt to the tables in turn; 0 stands for rows_per_table.
constexpr std::array<uint64_t, 10> kIdCounts = {0, 10, 0, 100, 0, 0, 3, 0, 1000, 0};

double NormalDistribution(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }

// The normal distribution and its inverse, from tables: a row needs some forty of each.
class NormalTables {
 public:
  NormalTables() {
    for (size_t i = 0; i < distribution_.size(); ++i) {
      distribution_[i] =
          static_cast<float>(NormalDistribution(static_cast<double>(i) / kCells - kBound));
    }
    for (size_t i = 0; i < quantile_.size(); ++i) {
      const double target = (static_cast<double>(i) + 0.5) / static_cast<double>(quantile_.size());
      quantile_[i] = static_cast<float>(Invert(target));
    }
  }

  // Standard normal from the upper 12 bits.
  float Quantile(uint64_t bits) const { return quantile_[bits >> 52]; }

  float Distribution(float x) const {
    constexpr float kLast = 2 * kBound * kCells;
    const float position = std::clamp((x + kBound) * kCells, 0.0f, kLast - 0.5f);
    const auto cell = static_cast<size_t>(position);
    const float part = position - static_cast<float>(cell);
    return distribution_[cell] + part * (distribution_[cell + 1] - distribution_[cell]);
  }

 private:
  static constexpr int kBound = 5;
  static constexpr int kCells = 128;  // per unit of x

  static double Invert(double target) {
    double low = -kBound, high = kBound;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (NormalDistribution(middle) < target ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  std::array<float, 2 * kBound * kCells + 1> distribution_;
  std::array<float, 4096> quantile_;
};

const NormalTables& Normal() {
  static const NormalTables tables;
  return tables;
}

// A number with no common factor with modulus, so that r -> r * number mod modulus permutes.
uint64_t CoprimeBelow(RandomStream& random, uint64_t modulus) {
  if (modulus < 2) return 1;
  while (true) {
    const uint64_t candidate = 1 + random.NextBelow(modulus - 1);
    if (std::gcd(candidate, modulus) == 1) return candidate;
  }
}

}  // namespace

FeatureModel::FeatureModel(const v1::SyntheticConfig& config) {
  CHECK_GE(config.rows_per_table(), 1);
  RandomStream random(config.seed(), SyntheticStream::kFeature);
  for (int32_t i = 0; i < config.dense_features(); ++i) {
    const Loading loading = MakeLoading(random);
    const double log_mean = 4.5 * random.NextUnit();
    const double log_deviation = 0.8 + random.NextUnit();
    counts_.push_back({loading, static_cast<float>(log_mean), static_cast<float>(log_deviation)});
  }
  for (int32_t i = 0; i < config.tables(); ++i) {
    categoricals_.push_back(MakeCategorical(random, static_cast<size_t>(i),
                                            static_cast<uint64_t>(config.rows_per_table())));
  }
}

FeatureModel::Loading FeatureModel::MakeLoading(RandomStream& random) {
  std::array<double, kFactorCount> direction;
  double square = 0;
  for (double& x : direction) {
    x = random.NextNormal();
    square += x * x;
  }
  Loading loading;
  for (size_t i = 0; i < direction.size(); ++i) {
    loading.factors[i] = static_cast<float>(direction[i] * std::sqrt(kFactorVariance / square));
  }
  loading.own_share = static_cast<float>(std::sqrt(1.0 - kFactorVariance));
  // Half of the features are always there; the others lack up to 40 % of their values.
  loading.missing_share = std::max(0.0, 0.8 * random.NextUnit() - 0.4);
  return loading;
}

FeatureModel::Categorical FeatureModel::MakeCategorical(RandomStream& random, size_t table,
                                                        uint64_t rows_per_table) {
  const uint64_t bound = std::min(rows_per_table, kMaxIdCount);
  const uint64_t wanted = kIdCounts[table % kIdCounts.size()];
  Categorical categorical;
  categorical.id_count = wanted == 0 ? bound : std::min(wanted, bound);
  categorical.loading = MakeLoading(random);
  const double exponent = 1.05 + 0.15 * random.NextUnit();
  categorical.tail =
      static_cast<float>(1.0 - std::pow(static_cast<double>(categorical.id_count), 1.0 - exponent));
  categorical.root = static_cast<float>(1.0 / (1.0 - exponent));
  categorical.multiplier = CoprimeBelow(random, categorical.id_count - 1);
  return categorical;
}

void FeatureModel::Draw(RandomStream& random, FeatureRow* row) const {
  const NormalTables& normal = Normal();
  std::array<float, kFactorCount> factors;
  for (float& factor : factors) factor = normal.Quantile(random.Next());

  // Upper bits: the feature's own part; lower 32: whether it is missing.
  const auto draw = [&](const Loading& loading, bool* missing) {
    const uint64_t bits = random.Next();
    *missing = static_cast<double>(bits & 0xffffffff) * 0x1.0p-32 < loading.missing_share;
    float x = loading.own_share * normal.Quantile(bits);
    for (size_t i = 0; i < factors.size(); ++i) x += loading.factors[i] * factors[i];
    return x;
  };

  bool missing = false;
  row->counts.resize(counts_.size());
  row->dense.resize(counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) {
    const Count& count = counts_[i];
    const float x = count.log_mean + count.log_deviation * draw(count.loading, &missing);
    row->counts[i] = missing ? -1 : static_cast<int64_t>(std::exp(x));
    row->dense[i] = LogCount(row->counts[i]);
  }
  row->ranks.resize(categoricals_.size());
  row->ids.resize(categoricals_.size());
  for (size_t i = 0; i < categoricals_.size(); ++i) {
    const Categorical& categorical = categoricals_[i];
    const float u = normal.Distribution(draw(categorical.loading, &missing));
    const uint64_t last = categorical.id_count - 1;
    // Inverse of the continuous power law on [1, id_count).
    const auto rank =
        static_cast<uint64_t>(std::pow(1.0f - u * categorical.tail, categorical.root));
    row->ranks[i] = missing || last == 0 ? 0 : std::clamp<uint64_t>(rank, 1, last);
    const uint64_t r = row->ranks[i];
    row->ids[i] = r == 0 || last == 0 ? 0 : 1 + (r - 1) * categorical.multiplier % last;
  }
}

}  // namespace weir::data
