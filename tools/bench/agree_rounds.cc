#include "tools/bench/agree_rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/exdyna_blocks.h"
#include "tools/bench/agreed_training.h"
#include "tools/bench/measure.h"

namespace weir::bench {
namespace {

constexpr double kDensity = 0.01;
constexpr int64_t kBatch = 16;
constexpr double kMostImbalance = 1.25;
constexpr uint32_t kSeriesTrainers = 8;

struct Length {
  int rounds = 0;
  int series_every = 0;
  int warm_up() const { return rounds / 2; }
};
constexpr Length kLong = {.rounds = 600, .series_every = 10};
constexpr Length kQuick = {.rounds = 12, .series_every = 3};

// blocks: 0 for the default. With as many as there are partitions none can be moved.
v1::PolicyRule ExDynaRule(int32_t blocks) {
  v1::PolicyRule rule;
  rule.mutable_exdyna()->set_sparsity(1 - kDensity);
  if (blocks > 0) rule.mutable_exdyna()->set_blocks(blocks);
  return rule;
}

using Rounds = std::vector<AgreedTraining::Round>;

// From the second round on trainers have one threshold and one set of partitions, so nothing is
// proposed twice.
Result<Rounds> Train(const v1::PolicyRule& rule, uint32_t trainers, const Length& length) {
  AgreedTraining training(rule, trainers, kBatch);
  Rounds rounds;
  for (int i = 0; i < length.rounds; ++i) {
    WEIR_ASSIGN_OR_RETURN(const AgreedTraining::Round round, training.Next());
    const int64_t proposed =
        std::accumulate(round.proposed.begin(), round.proposed.end(), int64_t{0});
    if (i > 0 && proposed != round.union_count) {
      return Internal(StrCat("agree: in round ", i, " trainers proposed ", proposed,
                             " elements, and their union has ", round.union_count));
    }
    rounds.push_back(round);
  }
  if (!(rounds.back().logloss < 10)) return Internal("agree: the loss is out of bounds");
  return rounds;
}

// n max(k) / sum(k).
double ImbalanceOf(const std::vector<int64_t>& counts) {
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  const auto most = static_cast<double>(*std::ranges::max_element(counts));
  return static_cast<double>(counts.size()) * most / all;
}

// The mean over the rounds after the warm-up.
double Imbalance(const Rounds& rounds, int warm_up) {
  double sum = 0;
  for (size_t i = static_cast<size_t>(warm_up); i < rounds.size(); ++i) {
    sum += ImbalanceOf(rounds[i].proposed);
  }
  return sum / static_cast<double>(rounds.size() - static_cast<size_t>(warm_up));
}

// Of what those rounds selected together in each partition: without what makes batches differ.
double ImbalanceOfPartitions(const Rounds& rounds, int warm_up) {
  std::vector<int64_t> counts(rounds.front().proposed.size());
  for (size_t i = static_cast<size_t>(warm_up); i < rounds.size(); ++i) {
    const auto by_partition =
        compress::ExDynaCountsByPartition(static_cast<int64_t>(i), rounds[i].proposed);
    for (size_t k = 0; k < counts.size(); ++k) counts[k] += by_partition[k];
  }
  return ImbalanceOf(counts);
}

// Of two series, of their logarithms.
double Correlation(const Rounds& rounds, int from) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (size_t i = static_cast<size_t>(from); i < rounds.size(); ++i) {
    const double a = std::log(rounds[i].threshold), b = std::log(rounds[i].residual_norm);
    ++n, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  }
  return (n * xy - x * y) / std::sqrt((n * xx - x * x) * (n * yy - y * y));
}

void AddSeries(const Rounds& rounds, const Length& length, Lines* lines) {
  for (size_t i = 1; i < rounds.size(); i += static_cast<size_t>(length.series_every)) {
    lines->push_back({.name = StrCat("agree/exdyna_threshold/step_", i),
                      .value = rounds[i].threshold,
                      .unit = "threshold",
                      .peer = "L2 norm of what is not sent",
                      .peer_value = rounds[i].residual_norm});
  }
  lines->push_back({.name = "agree/exdyna_threshold/correlation",
                    .value = Correlation(rounds, 1),
                    .unit = "of logarithms",
                    .peer = "in step",
                    .peer_value = 1});
}

Line ImbalanceLine(const std::string& name, double value, double peer, double goal) {
  return {.name = name,
          .value = value,
          .unit = "n max / sum",
          .peer = "partitions that never move",
          .peer_value = peer,
          .goal = goal,
          .better = Better::kLess};
}

}  // namespace

Result<Lines> MeasureExDynaRounds(bool quick) {
  const Length& length = quick ? kQuick : kLong;
  Lines lines;
  for (const uint32_t trainers : {4u, 8u, 16u}) {
    if (quick && trainers > 4) break;
    WEIR_ASSIGN_OR_RETURN(const Rounds moving, Train(ExDynaRule(0), trainers, length));
    WEIR_ASSIGN_OR_RETURN(const Rounds fixed,
                          Train(ExDynaRule(static_cast<int32_t>(trainers)), trainers, length));
    const double peer = Imbalance(fixed, length.warm_up());
    lines.push_back(ImbalanceLine(StrCat("agree/exdyna_imbalance/n", trainers),
                                  Imbalance(moving, length.warm_up()), peer,
                                  peer / kMostImbalance));
    lines.push_back(ImbalanceLine(StrCat("agree/exdyna_imbalance_of_partitions/n", trainers),
                                  ImbalanceOfPartitions(moving, length.warm_up()),
                                  ImbalanceOfPartitions(fixed, length.warm_up()), 0));
    if (trainers == kSeriesTrainers || quick) AddSeries(moving, length, &lines);
  }
  return lines;
}

}  // namespace weir::bench
