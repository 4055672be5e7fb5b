// What servers cost a trainer when the network costs nothing: one server and one trainer of one
// thread on this machine, beside the same training embedded in one process.

#include <algorithm>
#include <array>

#include "common/base/strings.h"
#include "tools/bench/local_run.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

enum Way { kEmbedded, kNone, kDct99, kWayCount };

// What the model's file leaves to the run: some three seconds of batches of 512.
LocalRun RunOf(Way way, bool quick) {
  LocalRun run{.config_files = "models/dlrm_criteo.textproto",
               .policy = "none {} values: F32",
               .servers = way == kEmbedded ? 0 : 1,
               .batch_size = 512,
               .rows = 60'000};
  if (way == kDct99) run.policy = "dct { sparsity: 0.99 lifespan: 1000 } values: BF16";
  if (quick) {
    run.config_files = "models/dlrm_tiny.textproto";
    run.rows = 2'000;
  }
  return run;
}

// samples/s, medians over the repeats, in turns.
Result<std::array<double, kWayCount>> MeasureRates(const Options& options) {
  std::array<std::vector<double>, kWayCount> values;
  for (int repeat = 0; repeat < std::min(options.repeats, kMaxRunRepeats); ++repeat) {
    for (const Way way : {kEmbedded, kNone, kDct99}) {
      WEIR_ASSIGN_OR_RETURN(const LocalResult result, RunLocal(RunOf(way, options.quick)));
      values[way].push_back(result.samples_per_second);
    }
  }
  return std::array{Median(values[kEmbedded]), Median(values[kNone]), Median(values[kDct99])};
}

}  // namespace

Result<Lines> BenchDistributed(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const auto rates, MeasureRates(options));
  const Line dct{
      .name = "distributed/dct_99", .value = rates[kDct99], .unit = "samples/s", .goal = 0.8};
  Lines lines(2, dct);
  lines[0].peer = "the same training embedded";
  lines[0].peer_value = rates[kEmbedded];
  lines[1].name += "/of_none";
  lines[1].peer = "none, 1 server";
  lines[1].peer_value = rates[kNone];
  lines[1].goal = 1;
  return lines;
}

}  // namespace weir::bench
