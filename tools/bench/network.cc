// Training behind a slow link: what DCT at 99 % gains over sending everything, by the lifespan of
// its thresholds (the shape of figure 7a of Gupta et al. 2021, where recomputing them at each step
// gives up much of the gain), and how much sooner it reaches a test loss.

#include <algorithm>
#include <iostream>
#include <map>

#include "common/base/strings.h"
#include "tools/bench/local_run.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr const char* kPaper = "models/dlrm_criteo.textproto";
constexpr const char* kNone = "none {} values: F32";

// A run takes seconds, so three are the most.
constexpr int kMaxRepeats = 3;

struct Shaped {
  Link link;
  // Rows that take some five seconds.
  int64_t none_rows;
  int64_t dct_rows;
};

constexpr Shaped kGigabit = {{"1gbit", "256kb"}, 20'000, 50'000};
constexpr Shaped kHundredMegabit = {{"100mbit", "128kb"}, 2'560, 25'600};

std::string Dct99(int lifespan) {
  return StrCat("dct { sparsity: 0.99 lifespan: ", lifespan, " } values: BF16");
}

// samples/s by policy: medians over the repeats, in turns.
using Rates = std::map<std::string, double>;

Result<Rates> MeasureRates(const Shaped& shaped, int repeats) {
  std::map<std::string, std::vector<double>> values;
  const std::vector<std::string> policies = {kNone, Dct99(1), Dct99(10), Dct99(100), Dct99(1000)};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const std::string& policy : policies) {
      const int64_t rows = policy == kNone ? shaped.none_rows : shaped.dct_rows;
      WEIR_ASSIGN_OR_RETURN(
          const LocalResult result,
          RunLocal({.config_files = kPaper, .policy = policy, .rows = rows, .link = shaped.link}));
      values[policy].push_back(result.samples_per_second);
    }
  }
  Rates rates;
  for (const auto& [policy, rate] : values) rates[policy] = Median(rate);
  return rates;
}

Lines RateLines(const Shaped& shaped, Rates rates) {
  Lines lines;
  for (const int lifespan : {1, 10, 100, 1000}) {
    lines.push_back({.name = StrCat("network/", shaped.link.name, "/dct_99_L", lifespan),
                     .value = rates[Dct99(lifespan)],
                     .unit = "samples/s",
                     .peer = "none, behind the same link",
                     .peer_value = rates[kNone]});
  }
  return lines;
}

using Curve = std::vector<LocalResult::Test>;

// Trained samples when the loss is first reached, on the line between two tests; 0 if never.
double SamplesTo(double logloss, const Curve& curve) {
  for (size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].logloss > logloss) continue;
    if (i == 0) return curve[0].samples;
    const LocalResult::Test &before = curve[i - 1], &after = curve[i];
    const double share = (before.logloss - logloss) / (before.logloss - after.logloss);
    return before.samples + share * (after.samples - before.samples);
  }
  return 0;
}

Result<Curve> LearningCurve(const std::string& policy) {
  WEIR_ASSIGN_OR_RETURN(const LocalResult result, RunLocal({.config_files = kPaper,
                                                            .policy = policy,
                                                            .rows = 64'000,
                                                            .test_rows = 10'000,
                                                            .evaluate_every_samples = 8'000}));
  return result.tests;
}

double LowestLogloss(const Curve& curve) {
  return std::ranges::min_element(curve, {}, &LocalResult::Test::logloss)->logloss;
}

// Samples from runs without a limit, because the baseline would need hours behind it.
Result<Line> TimeToLoss(Rates rates) {
  WEIR_ASSIGN_OR_RETURN(const Curve none, LearningCurve(kNone));
  WEIR_ASSIGN_OR_RETURN(const Curve dct, LearningCurve(Dct99(1000)));
  const double target = std::max(LowestLogloss(none), LowestLogloss(dct));
  return Line{.name = "network/time_to_loss",
              .value = SamplesTo(target, dct) / rates[Dct99(1000)],
              .unit = "s",
              .peer = Format("none; samples to test logloss %.4f without a limit, over samples/s "
                             "behind 100mbit",
                             target),
              .peer_value = SamplesTo(target, none) / rates[kNone],
              .goal = 5,
              .better = Better::kLess};
}

// Only that a run works and is understood.
Result<Lines> Quick() {
  WEIR_ASSIGN_OR_RETURN(
      const LocalResult result,
      RunLocal(
          {.config_files = "models/dlrm_tiny.textproto", .policy = Dct99(1000), .rows = 2'000}));
  return Lines{{.name = "network/unshaped/dct_99_L1000",
                .value = result.samples_per_second,
                .unit = "samples/s",
                .peer = "none: a quick run has no link"}};
}

}  // namespace

Result<Lines> BenchNetwork(const Options& options) {
  if (options.quick) return Quick();
  if (const Status status = CheckLinks(); !status.ok()) {
    std::cout << "left out: shaping needs root, unshare, ip and tc: " << status.message() << "\n";
    return Lines{};
  }
  const int repeats = std::min(options.repeats, kMaxRepeats);
  WEIR_ASSIGN_OR_RETURN(const Rates gigabit, MeasureRates(kGigabit, repeats));
  WEIR_ASSIGN_OR_RETURN(const Rates megabits, MeasureRates(kHundredMegabit, repeats));
  Lines lines = RateLines(kGigabit, gigabit);
  for (Line& line : RateLines(kHundredMegabit, megabits)) lines.push_back(std::move(line));
  WEIR_ASSIGN_OR_RETURN(lines.emplace_back(), TimeToLoss(megabits));
  return lines;
}

}  // namespace weir::bench
