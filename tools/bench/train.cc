// Whole training steps in one process: cutting the batch, rows, forward, backward, update.

#include <iostream>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
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
  double goal;       // times PyTorch on one thread
  double bf16_goal;  // with bfloat16 products; PyTorch stays in 32 bits
};
constexpr Size kSizes[] = {{128, 1.7, 2.8}, {512, 1.45, 2.45}, {2048, 1.4, 2.3}};

// Samples per second of one repeat.
Result<double> Rate(TrainingRun& run, const data::RowBlock& rows, bool quick) {
  double seconds = 0;
  int64_t samples = 0;
  do {
    WEIR_ASSIGN_OR_RETURN(const double once, run.Train(rows));
    seconds += once;
    samples += rows.row_count();
  } while (seconds < kRepeatSeconds && !quick);
  return static_cast<double>(samples) / seconds;
}

// Labels are coin flips: whoever predicts 1/2 has log 2, and a run that learns them by heart less.
Status Verify(const TrainingRun& run) {
  const double logloss = run.mean_logloss();
  if (logloss > 0 && logloss < 0.75) return OkStatus();
  return Internal(StrCat("train: the mean logloss is ", logloss, ", not near log 2"));
}

struct Figures {
  double one_thread = 0, two_threads = 0;  // samples/s, ours
  double bf16 = 0;                         // on one thread; 0: not measured
  std::string peer = "PyTorch";
  double peer_one_thread = 0, peer_two_threads = 0;  // 0: not measured
};

Status MeasureOurs(int64_t batch, const Options& options, const data::RowBlock& rows,
                   std::vector<double>* one, std::vector<double>* two) {
  TrainingRun one_thread(batch, 1), two_threads(batch, 2);
  WEIR_RETURN_IF_ERROR(one_thread.Train(rows).status());
  WEIR_RETURN_IF_ERROR(two_threads.Train(rows).status());
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    WEIR_ASSIGN_OR_RETURN(const double rate, Rate(one_thread, rows, options.quick));
    one->push_back(rate);
    WEIR_ASSIGN_OR_RETURN(const double rate_of_two, Rate(two_threads, rows, options.quick));
    two->push_back(rate_of_two);
  }
  WEIR_RETURN_IF_ERROR(Verify(one_thread));
  return Verify(two_threads);
}

// Without units for it only whether it trains.
Status MeasureBf16(int64_t batch, const Options& options, const data::RowBlock& rows,
                   std::vector<double>* rates) {
  TrainingRun run(batch, 1, v1::ModelConfig::BF16);
  WEIR_RETURN_IF_ERROR(run.Train(rows).status());
  for (int repeat = 0; repeat < options.repeats && kernels::CpuHasBf16Units(); ++repeat) {
    WEIR_ASSIGN_OR_RETURN(const double rate, Rate(run, rows, options.quick));
    rates->push_back(rate);
  }
  return Verify(run);
}

Status MeasurePeer(int64_t batch, Figures* figures) {
  for (const int threads : {1, 2}) {
    WEIR_ASSIGN_OR_RETURN(
        const PeerResult result,
        RunPeerScript("pytorch_dlrm.py",
                      StrCat("--batches=", batch, " --threads=", threads, " --seconds=1")));
    const double rate = result.values.at(StrCat("batch_", batch));
    (threads == 1 ? figures->peer_one_thread : figures->peer_two_threads) = rate;
    figures->peer = result.peer;
  }
  return OkStatus();
}

// Ours, the peer, and ours again.
Result<Figures> Measure(int64_t batch, const Options& options) {
  const data::RowBlock rows = RandomRows(options.quick ? 512 : batch * kDistinctBatches);
  std::vector<double> one, two, bf16;
  Figures figures;
  WEIR_RETURN_IF_ERROR(MeasureOurs(batch, options, rows, &one, &two));
  WEIR_RETURN_IF_ERROR(MeasureBf16(batch, options, rows, &bf16));
  if (!options.quick) {
    // Without PyTorch our own figures are still worth something.
    if (Status status = MeasurePeer(batch, &figures); !status.ok()) {
      std::cout << status.message() << "\n";
    }
    WEIR_RETURN_IF_ERROR(MeasureOurs(batch, options, rows, &one, &two));
    if (kernels::CpuHasBf16Units()) {
      WEIR_RETURN_IF_ERROR(MeasureBf16(batch, options, rows, &bf16));
    }
  }
  figures.one_thread = Median(one);
  figures.two_threads = Median(two);
  if (!bf16.empty()) figures.bf16 = Median(bf16);
  return figures;
}

}  // namespace

Result<Lines> BenchTrain(const Options& options) {
  Lines lines;
  for (const Size& size : kSizes) {
    if (options.quick && size.batch > 128) break;
    WEIR_ASSIGN_OR_RETURN(const Figures f, Measure(size.batch, options));
    const auto add = [&](const std::string& name, double value, const std::string& peer,
                         double peer_value, double goal, const char* precision = "f32") {
      lines.push_back({.name = StrCat("train/", precision, "/batch_", size.batch, name),
                       .value = value,
                       .unit = "samples/s",
                       .peer = peer,
                       .peer_value = peer_value,
                       .goal = goal});
    };
    add("", f.one_thread, f.peer + ", 1 thread", f.peer_one_thread, size.goal);
    add("/of_gemm", f.one_thread, "the fastest products alone",
        BestGemmSamplesPerSecond(size.batch, options.repeats), 0.8);
    add("/threads_2", f.two_threads, f.peer + ", 2 threads", f.peer_two_threads, 1.5);
    add("/threads_2/of_1", f.two_threads, "one thread", f.one_thread, 1.85);
    if (f.bf16 > 0) {
      add("", f.bf16, f.peer + " in F32, 1 thread", f.peer_one_thread, size.bf16_goal, "bf16");
    }
  }
  if (!kernels::CpuHasBf16Units()) {
    std::cout << "train/bf16: verified, not measured: this processor has no units for it\n";
  }
  return lines;
}

}  // namespace weir::bench
