// The hidden teacher of the synthetic set: the probability of a click as a function of a row's
// visible features, so that the best reachable logloss is known exactly.
//
// Every id has a hidden vector, a function of (seed, table, rank) that shrinks for rare ids, since
// nobody could learn those from a handful of rows. e and f are the sums of these vectors over the
// even and the odd tables; h are waves over the dense features, each along mostly one of them. The
// logit is a weighted sum of four terms:
//   linear    v . e + w . f
//   pairwise  e . f, what a dot interaction sees
//   waves     a . h, which take wide layers to follow: a ReLU layer spends a unit on each bend
//   gated     (G h) . f
// Weights and bias are set from a sample of rows so that each term has its share of the variance
// (data.synthetic.teacher), the click rate is a quarter and the best AUC is about 0.8, whatever the
// seed. Waves stay a small part unless one asks for them: they follow one dense feature each, so a
// split behind the bottom MLP that masks most of it costs far more on them than on real clicks.
//
// Thread rule: immutable after construction, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/random.h"
#include "common/proto/config.pb.h"
#include "worker/data/synthetic_features.h"

namespace weir::data {

class Teacher {
 public:
  // config: with defaults filled in and valid. Draws a sample from features to set its scales;
  // keeps no reference to either.
  Teacher(const v1::SyntheticConfig& config, const FeatureModel& features);

  // P(label = 1 | row), in (0, 1).
  double ClickProbability(const FeatureRow& row) const;

 private:
  static constexpr size_t kVectorWidth = 8;
  static constexpr size_t kWaveCount = 32;
  static constexpr size_t kTermCount = 4;
  using Vector = std::array<float, kVectorWidth>;
  using Waves = std::array<float, kWaveCount>;
  using Terms = std::array<double, kTermCount>;

  void MakeWaves(RandomStream& random, size_t dense_count);
  void Normalise(const std::vector<FeatureRow>& sample);
  void Calibrate(const v1::TeacherConfig& config, const std::vector<FeatureRow>& sample);

  Terms ComputeTerms(const FeatureRow& row) const;
  void SumVectors(const FeatureRow& row, Vector* e, Vector* f) const;
  Waves ComputeWaves(const FeatureRow& row) const;
  double Logit(const Terms& terms) const;

  uint64_t vector_key_;
  float vector_scale_ = 1;
  std::vector<float> dense_mean_, dense_scale_;  // of the waves' input: (x - mean) * scale
  std::vector<Waves> directions_;                // [dense_features, kWaveCount]
  Waves phases_{};
  Vector linear_e_, linear_f_;
  Waves amplitudes_;
  std::array<Vector, kWaveCount> gate_;
  Terms term_weights_{};
  double bias_ = 0;
};

}  // namespace weir::data
