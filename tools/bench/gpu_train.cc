// Whole training steps on a card, embedded, beside PyTorch on the same card, which has its batches
// there, too: ours come from the host.

#include <algorithm>
#include <string>

#include "common/base/strings.h"
#include "tools/bench/card.h"
#include "tools/bench/gpu_peer.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"
#include "tools/bench/training_run.h"

namespace weir::bench {
namespace {

constexpr int64_t kBatches[] = {2'048, 16'384, 65'536};
constexpr int64_t kQuickBatch = 8;
constexpr int64_t kDistinctBatches = 4;
constexpr int kSeveralThreads = 4;
constexpr double kRepeatSeconds = 0.6;
constexpr int kMaxRepeats = 3;
constexpr double kGoal = 1.5;  // times the fastest

struct PrecisionOfTraining {
  kernels::Precision kernels;
  v1::ModelConfig::Precision model;
  const char* name;
};

// Of so many threads, each with a stream of its own. Its loss has fallen.
Result<double> MeasureRate(int64_t batch, int threads, const PrecisionOfTraining& precision,
                           const Options& options) {
  WEIR_ASSIGN_OR_RETURN(const Card card, OpenCardOf(options, precision.kernels, batch));
  const data::RowBlock rows = RandomRows(batch * (options.quick ? 2 : kDistinctBatches));
  TrainingRun run(batch, threads, precision.model, card.compute);
  WEIR_RETURN_IF_ERROR(run.Train(rows).status());  // the unmeasured pass
  std::vector<double> rates;
  for (int repeat = 0; repeat < std::min(options.repeats, kMaxRepeats); ++repeat) {
    double seconds = 0;
    int64_t samples = 0;
    do {
      WEIR_ASSIGN_OR_RETURN(const double once, run.Train(rows));
      seconds += once;
      samples += rows.row_count();
    } while (seconds < kRepeatSeconds && !options.quick);
    rates.push_back(static_cast<double>(samples) / seconds);
  }
  WEIR_RETURN_IF_ERROR(run.Verify());
  return Median(rates);
}

// The name of its figure of the fastest variant; "" where it has none.
std::string Fastest(const GpuPeer& peer, int64_t batch) {
  std::string fastest;
  for (const char* variant : {"eager", "graphs", "compile", "compile_graphs"}) {
    const std::string figure = StrCat(variant, "_", batch);
    if (peer.Value(figure) > peer.Value(fastest)) fastest = figure;
  }
  return fastest;
}

Status MeasureBatch(int64_t batch, const PrecisionOfTraining& precision, const GpuPeer& pytorch,
                    const Options& options, Lines* lines) {
  WEIR_ASSIGN_OR_RETURN(const double one, MeasureRate(batch, 1, precision, options));
  const std::string fastest = Fastest(pytorch, batch);
  Line line = {.name = StrCat("gpu/train/", precision.name, "/batch_", batch),
               .value = one,
               .unit = "samples/s",
               .peer = fastest.empty() ? pytorch.name() : StrCat(pytorch.name(), " ", fastest),
               .peer_value = pytorch.Value(fastest),
               .goal = kGoal};
  lines->push_back(line);
  line.goal = 0;
  for (const char* variant : {"eager", "graphs", "compile", "compile_graphs"}) {
    lines->push_back(line);
    lines->back().name = StrCat(line.name, "/", variant);
    lines->back().peer = StrCat(pytorch.name(), " ", variant);
    lines->back().peer_value = pytorch.Value(StrCat(variant, "_", batch));
  }
  if (options.quick) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(line.value, MeasureRate(batch, kSeveralThreads, precision, options));
  line.name += StrCat("/threads_", kSeveralThreads);
  lines->push_back(line);
  return OkStatus();
}

Result<Lines> MeasurePrecision(const PrecisionOfTraining& precision, const Options& options) {
  std::vector<int64_t> batches(std::begin(kBatches), std::end(kBatches));
  if (options.quick) batches = {kQuickBatch};
  std::vector<std::string> arguments = {"train", StrCat("--precision=", precision.name)};
  for (const int64_t batch : batches) arguments.push_back(StrCat("--batch=", batch));
  WEIR_ASSIGN_OR_RETURN(const GpuPeer pytorch, GpuPeer::Run(options, arguments));
  Lines lines;
  for (const int64_t batch : batches) {
    WEIR_RETURN_IF_ERROR(MeasureBatch(batch, precision, pytorch, options, &lines));
  }
  return lines;
}

}  // namespace

Result<Lines> BenchGpuTrainF32(const Options& options) {
  return MeasurePrecision({kernels::Precision::kF32, v1::ModelConfig::F32, "f32"}, options);
}

Result<Lines> BenchGpuTrainBf16(const Options& options) {
  return MeasurePrecision({kernels::Precision::kBf16, v1::ModelConfig::BF16, "bf16"}, options);
}

}  // namespace weir::bench
