// What it costs that nothing is lost: one server and one trainer of one thread on this machine,
// with a log of either kind and with checkpoints, beside the same run without.

#include <algorithm>

#include "common/base/strings.h"
#include "tools/bench/local_run.h"
#include "tools/bench/measure.h"
#include "tools/bench/paired_runs.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

enum Way { kNothing, kProcess, kMachine, kCheckpoints, kWayCount };

constexpr const char* kDurabilityDct99 = "dct { sparsity: 0.99 lifespan: 1000 } values: BF16";
constexpr double kProcessGoal = 0.97, kMachineGoal = 0.9, kCheckpointGoal = 0.98;
constexpr const char* kPeer = "without log or checkpoints";
constexpr double kStopGoalMs = 100, kMinuteMs = 60'000;

// Between two checkpoints the one before is written; that takes a second.
constexpr const char* kWays[kWayCount] = {"", "cluster { durability: PROCESS }",
                                          "cluster { durability: MACHINE }",
                                          "run { checkpoint_every_samples: 98304 }"};
constexpr const char* kQuickCheckpoints =
    "data { chunk_batches: 4 } run { checkpoint_every_samples: 512 }";

// The model's file, eight seconds of batches of 128.
LocalRun RunOfWay(Way way, bool quick) {
  LocalRun run{.config_files = "models/dlrm_criteo.textproto",
               .policy = kDurabilityDct99,
               .rows = 300'000,
               .more = kWays[way],
               .keeps_log = way == kProcess || way == kMachine};
  if (!quick) return run;
  run.config_files = "models/dlrm_tiny.textproto";
  run.rows = 2'000;
  if (way == kCheckpoints) run.more = kQuickCheckpoints;
  return run;
}

Result<std::vector<PairedTurn>> MeasureWays(const Options& options) {
  std::vector<LocalRun> runs(kWayCount);
  for (size_t way = 0; way < runs.size(); ++way) {
    runs[way] = RunOfWay(static_cast<Way>(way), options.quick);
  }
  WEIR_ASSIGN_OR_RETURN(auto turns, MeasureTurns(runs, options.repeats));
  for (const PairedTurn& turn : turns) {
    if (turn[kCheckpoints].stops.empty()) return Internal("a run had no checkpoint");
  }
  return turns;
}

Line StopLine(const std::string& name, const std::vector<CheckpointStop>& stops) {
  std::vector<double> milliseconds;
  milliseconds.reserve(stops.size());
  for (const CheckpointStop& stop : stops) milliseconds.push_back(1e3 * stop.seconds);
  return {.name = name,
          .value = Median(std::move(milliseconds)),
          .unit = "ms",
          .peer = "the goal",
          .peer_value = kStopGoalMs,
          .goal = 1,
          .better = Better::kLess};
}

// Training that one checkpoint takes, what is written behind its stop included. Never less than the
// stop, of which noise may make it less.
double CostMs(const PairedTurn& turn) {
  const LocalResult& with = turn[kCheckpoints];
  double stops_ms = 0;
  for (const CheckpointStop& stop : with.stops) stops_ms += 1e3 * stop.seconds;
  const double all_ms = 1e3 * (with.train_seconds - turn[kNothing].train_seconds);
  return std::max(all_ms, stops_ms) / static_cast<double>(with.stops.size());
}

void AddCheckpointLines(const std::vector<PairedTurn>& turns, Lines* lines) {
  const double cost_ms = MedianOf(turns, CostMs);
  lines->push_back({.name = "durability/checkpoint/cost",
                    .value = cost_ms,
                    .unit = "ms",
                    .peer = "the goal, of one a minute",
                    .peer_value = (1 - kCheckpointGoal) * kMinuteMs,
                    .goal = 1,
                    .better = Better::kLess});
  const double without =
      MedianOf(turns, [](const PairedTurn& turn) { return turn[kNothing].samples_per_second; });
  // Computed: a run of a minute with one of them.
  const double ratio = std::max(0.01, 1 - cost_ms / kMinuteMs);
  lines->push_back(
      PairedLine("durability/checkpoint/a_minute", kPeer, ratio * without, ratio, kCheckpointGoal));
  std::vector<CheckpointStop> stops;
  for (const PairedTurn& turn : turns) {
    const auto& more = turn[kCheckpoints].stops;
    stops.insert(stops.end(), more.begin(), more.end());
  }
  lines->push_back(StopLine("durability/checkpoint/stop", stops));
}

// Rows so wide, of tables so large, that the first checkpoint of some has more than a gigabyte
// after half a minute. A stop waits for the push under way, so it counts how much a step pushes.
LocalRun LargeRun(int64_t batch_size, int64_t width, int64_t rows, bool quick) {
  if (quick) return RunOfWay(kCheckpoints, quick);
  return {.config_files = "models/dlrm_criteo.textproto",
          .policy = kDurabilityDct99,
          .batch_size = batch_size,
          .rows = rows + rows / 8,
          .table_rows = 1'000'000,
          .more = StrCat(
              "model { bottom_widths: [512, 256, 64, ", width, "] embedding_dimension: ", width,
              " } data { chunk_batches: 16 } run { checkpoint_every_samples: ", rows, " }")};
}

struct LargeStops {
  std::vector<CheckpointStop> stops;
  std::vector<double> step_ms;
};

Result<LargeStops> MeasureLargeStops(const LocalRun& run, const Options& options) {
  LargeStops measured;
  for (int repeat = 0; repeat < std::min(options.repeats, kMaxRunRepeats); ++repeat) {
    WEIR_ASSIGN_OR_RETURN(const LocalResult result, RunLocal(run));
    if (result.stops.empty()) return Internal("a run had no checkpoint");
    measured.stops.push_back(result.stops.front());
    const double steps = static_cast<double>(run.rows) / static_cast<double>(run.batch_size);
    measured.step_ms.push_back(1e3 * result.train_seconds / steps);
    if (!options.quick && measured.stops.back().bytes < 1e9) {
      return Internal(StrCat("the checkpoint has ", measured.stops.back().bytes, " bytes"));
    }
  }
  return measured;
}

}  // namespace

Result<Lines> BenchDurability(const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<PairedTurn> turns, MeasureWays(options));
  Lines lines = {PairedLine("durability/process", kPeer, turns, kProcess, kNothing, kProcessGoal),
                 PairedLine("durability/machine", kPeer, turns, kMachine, kNothing, kMachineGoal)};
  AddCheckpointLines(turns, &lines);
  return lines;
}

Result<Lines> BenchCheckpoint(const Options& options) {
  const LocalRun small_steps = LargeRun(128, 384, 393'216, options.quick);
  const LocalRun large_steps = LargeRun(1024, 1024, 98'304, options.quick);
  WEIR_ASSIGN_OR_RETURN(const LargeStops small, MeasureLargeStops(small_steps, options));
  WEIR_ASSIGN_OR_RETURN(const LargeStops large, MeasureLargeStops(large_steps, options));
  Line of_large_steps = StopLine("checkpoint/1GB/stop_of_large_steps", large.stops);
  of_large_steps.peer = "a step of that run";
  of_large_steps.peer_value = Median(large.step_ms);
  return Lines{StopLine("checkpoint/1GB/stop", small.stops), of_large_steps};
}

}  // namespace weir::bench
