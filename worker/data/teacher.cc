#include "worker/data/teacher.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "common/base/check.h"
#include "common/base/random_streams.h"

namespace weir::data {
namespace {

constexpr size_t kSampleRows = 4096;
constexpr double kClickRate = 0.25;

// Of the logit: with the click rate above it puts the best AUC near 0.8.
constexpr double kLogitDeviation = 1.42;
// The hidden vector of the id of this rank is half as long as that of the most frequent.
constexpr float kHalfRank = 50;
// Of the waves, in radians per standard deviation of the feature: up to some three bends over its
// range.
constexpr double kLowestFrequency = 0.8, kHighestFrequency = 2.0;
// How strongly a wave leans on a second feature, against its own.
constexpr double kSideShare = 0.3;

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Moments {
  double sum = 0, square_sum = 0, count = 0;

  void Add(double x) {
    sum += x;
    square_sum += x * x;
    ++count;
  }
  double mean() const { return sum / count; }
  double deviation() const {
    return std::sqrt(std::max(0.0, square_sum / count - mean() * mean()));
  }
};

// In the order of Teacher::Terms.
std::array<double, 4> SharesOf(const v1::TeacherConfig& config) {
  std::array<double, 4> shares = {config.linear(), config.pairwise(), config.waves(),
                                  config.gated()};
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  CHECK_GT(sum, 0);
  for (double& share : shares) share /= sum;
  return shares;
}

double InverseOrZero(double x) { return x > 1e-6 ? 1.0 / x : 0.0; }

template <size_t kWidth>
void FillNormal(RandomStream& random, double deviation, std::array<float, kWidth>& out) {
  for (float& x : out) x = static_cast<float>(deviation * random.NextNormal());
}

// out += x * row
template <size_t kWidth>
inline void AddScaled(float x, const std::array<float, kWidth>& row,
                      std::array<float, kWidth>& out) {
  for (size_t i = 0; i < kWidth; ++i) out[i] += x * row[i];
}

template <size_t kWidth>
inline float Dot(const std::array<float, kWidth>& a, const std::array<float, kWidth>& b) {
  float sum = 0;
  for (size_t i = 0; i < kWidth; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Teacher::Teacher(const v1::SyntheticConfig& config, const FeatureModel& features)
    : vector_key_(KeyedHash(config.seed(), SyntheticStream::kHiddenVector)) {
  const uint64_t seed = config.seed();
  RandomStream random(seed, SyntheticStream::kTeacher);
  FillNormal(random, 1.0, linear_e_);
  FillNormal(random, 1.0, linear_f_);
  MakeWaves(random, features.dense_count());

  RandomStream sample_random(seed, SyntheticStream::kTeacherSample);
  std::vector<FeatureRow> sample(kSampleRows);
  for (FeatureRow& row : sample) features.Draw(sample_random, &row);
  Normalise(sample);
  Calibrate(config.teacher(), sample);
}

void Teacher::MakeWaves(RandomStream& random, size_t dense_count) {
  directions_.assign(dense_count, Waves{});
  for (size_t wave = 0; wave < kWaveCount && dense_count > 0; ++wave) {
    const double frequency =
        kLowestFrequency + (kHighestFrequency - kLowestFrequency) * random.NextUnit();
    directions_[wave % dense_count][wave] += static_cast<float>(frequency);
    directions_[random.NextBelow(dense_count)][wave] +=
        static_cast<float>(kSideShare * frequency * random.NextNormal());
    phases_[wave] = static_cast<float>(2 * std::numbers::pi * random.NextUnit());
  }
  FillNormal(random, 1.0, amplitudes_);
  for (Vector& row : gate_) FillNormal(random, 1.0, row);
}

void Teacher::Normalise(const std::vector<FeatureRow>& sample) {
  for (size_t i = 0; i < sample.front().dense.size(); ++i) {
    Moments moments;
    for (const FeatureRow& row : sample) moments.Add(row.dense[i]);
    dense_mean_.push_back(static_cast<float>(moments.mean()));
    dense_scale_.push_back(static_cast<float>(InverseOrZero(moments.deviation())));
  }
  Moments moments;
  for (const FeatureRow& row : sample) {
    Vector e, f;
    SumVectors(row, &e, &f);
    for (const float x : e) moments.Add(x);
    for (const float x : f) moments.Add(x);
  }
  vector_scale_ = static_cast<float>(InverseOrZero(moments.deviation()));
}

void Teacher::Calibrate(const v1::TeacherConfig& config, const std::vector<FeatureRow>& sample) {
  std::array<Moments, kTermCount> moments;
  std::vector<Terms> terms;
  for (const FeatureRow& row : sample) {
    terms.push_back(ComputeTerms(row));
    for (size_t i = 0; i < kTermCount; ++i) moments[i].Add(terms.back()[i]);
  }
  const Terms shares = SharesOf(config);
  for (size_t i = 0; i < kTermCount; ++i) {
    term_weights_[i] = std::sqrt(shares[i]) * InverseOrZero(moments[i].deviation());
  }
  Moments sum;
  for (const Terms& row : terms) sum.Add(Logit(row));
  for (double& weight : term_weights_) weight *= kLogitDeviation * InverseOrZero(sum.deviation());

  double low = -100, high = 100;
  for (int i = 0; i < 60; ++i) {
    bias_ = (low + high) / 2;
    Moments rate;
    for (const Terms& row : terms) rate.Add(Sigmoid(Logit(row)));
    (rate.mean() < kClickRate ? low : high) = bias_;
  }
}

double Teacher::ClickProbability(const FeatureRow& row) const {
  return Sigmoid(Logit(ComputeTerms(row)));
}

double Teacher::Logit(const Terms& terms) const {
  double logit = bias_;
  for (size_t i = 0; i < kTermCount; ++i) logit += term_weights_[i] * terms[i];
  return logit;
}

void Teacher::SumVectors(const FeatureRow& row, Vector* e, Vector* f) const {
  e->fill(0);
  f->fill(0);
  for (size_t table = 0; table < row.ranks.size(); ++table) {
    const uint64_t rank = row.ranks[table];
    const float scale = vector_scale_ * kHalfRank / (kHalfRank + static_cast<float>(rank));
    // Eight signed bytes, one for each coordinate.
    const uint64_t bits = KeyedHash(vector_key_, table, rank);
    Vector& sum = table % 2 == 0 ? *e : *f;
    for (size_t i = 0; i < kVectorWidth; ++i) {
      sum[i] += scale * static_cast<float>(static_cast<int8_t>(bits >> (8 * i)));
    }
  }
}

Teacher::Waves Teacher::ComputeWaves(const FeatureRow& row) const {
  Waves waves = phases_;
  for (size_t i = 0; i < row.dense.size(); ++i) {
    AddScaled((row.dense[i] - dense_mean_[i]) * dense_scale_[i], directions_[i], waves);
  }
  for (float& x : waves) x = std::sin(x);
  return waves;
}

Teacher::Terms Teacher::ComputeTerms(const FeatureRow& row) const {
  Vector e, f;
  SumVectors(row, &e, &f);
  const Waves waves = ComputeWaves(row);
  Vector gate{};
  for (size_t i = 0; i < kWaveCount; ++i) AddScaled(waves[i], gate_[i], gate);
  return {Dot(linear_e_, e) + Dot(linear_f_, f), Dot(e, f), Dot(amplitudes_, waves), Dot(gate, f)};
}

}  // namespace weir::data
