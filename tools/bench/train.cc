// Whole training steps in one process: cutting the batch, rows, forward, backward, update.

#include <cmath>

#include "common/base/strings.h"
#include "tools/bench/gemm.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/sections.h"
#include "tools/bench/training_run.h"

namespace weir::bench {
namespace {

constexpr int64_t kDistinctBatches = 32;
constexpr double kRepeatSeconds = 0.8;

struct Size {
  int64_t batch;
  double goal;  // times PyTorch on one thread
};
constexpr Size kSizes[] = {{128, 1.7}, {512, 1.45}, {2048, 1.4}};

// Samples per second of each repeat.
Result<std::vector<double>> Rates(TrainingRun& run, const data::RowBlock& rows, int repeats,
                                  bool quick) {
  WEIR_RETURN_IF_ERROR(run.Train(rows));
  std::vector<double> rates;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double seconds = 0;
    int64_t samples = 0;
    do {
      Status status;
      seconds += Seconds([&] { status = run.Train(rows); });
      WEIR_RETURN_IF_ERROR(status);
      samples += rows.row_count();
    } while (seconds < kRepeatSeconds && !quick);
    rates.push_back(static_cast<double>(samples) / seconds);
  }
  // Labels are coin flips: whoever predicts 1/2 has log 2, and a run that learns them by heart
  // less.
  const double logloss = run.mean_logloss();
  if (!(logloss > 0 && logloss < 0.75)) {
    return Internal(StrCat("train: the mean logloss is ", logloss, ", not near log 2"));
  }
  return rates;
}

}  // namespace

Result<Lines> BenchTrain(const Options& options) {
  Lines lines;
  for (const Size& size : kSizes) {
    if (options.quick && size.batch > 128) break;
    const data::RowBlock rows = RandomRows(options.quick ? 256 : size.batch * kDistinctBatches);
    TrainingRun run(size.batch, 1);
    WEIR_ASSIGN_OR_RETURN(std::vector<double> rates,
                          Rates(run, rows, options.repeats, options.quick));
    Line line{.name = StrCat("train/f32/batch_", size.batch),
              .value = Median(rates),
              .unit = "samples/s",
              .peer = "PyTorch, 1 thread",
              .goal = size.goal};
    if (!options.quick) {
      WEIR_ASSIGN_OR_RETURN(const PeerResult peer,
                            RunPeerScript("pytorch_dlrm.py", StrCat("--batches=", size.batch)));
      WEIR_ASSIGN_OR_RETURN(const std::vector<double> more,
                            Rates(run, rows, options.repeats, options.quick));
      rates.insert(rates.end(), more.begin(), more.end());
      line.value = Median(rates);
      line.peer = StrCat(peer.peer, ", 1 thread");
      line.peer_value = peer.values.at(StrCat("batch_", size.batch));
    }
    lines.push_back(line);
    lines.push_back({.name = StrCat("train/f32/batch_", size.batch, "/of_gemm"),
                     .value = line.value,
                     .unit = "samples/s",
                     .peer = "the best library's products alone",
                     .peer_value = BestGemmSamplesPerSecond(size.batch, options.repeats),
                     .goal = 0.8});
  }
  return lines;
}

}  // namespace weir::bench
