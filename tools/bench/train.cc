// Whole training steps in one process: cutting the batch, rows, forward, backward, update.

#include <iostream>
#include <numeric>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/gemm.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/processors.h"
#include "tools/bench/read_cost.h"
#include "tools/bench/sections.h"
#include "tools/bench/training_run.h"

namespace weir::bench {
namespace {

constexpr int64_t kDistinctBatches = 32;
constexpr double kRepeatSeconds = 0.6;
constexpr int kRepeatsOfATurn = 3;
constexpr int kMaxTurns = 3;  // each starts PyTorch

struct Size {
  int64_t batch;
  double goal;       // times PyTorch on one thread
  double bf16_goal;  // with bfloat16 products; PyTorch stays in 32 bits
};
constexpr Size kSizes[] = {{128, 1.7, 2.8}, {512, 1.45, 2.45}, {2048, 1.4, 2.3}};

// At which reading is set beside a step; it may cost 1/25 of it.
constexpr int64_t kReadingBatch = 512;
constexpr double kReadingGoal = 25;

// Samples per second of one repeat. The first pass is not measured: another run had the caches,
// which the peer's repeats have to themselves.
Result<double> Rate(TrainingRun& run, const data::RowBlock& rows, bool quick) {
  if (!quick) WEIR_RETURN_IF_ERROR(run.Train(rows).status());
  double seconds = 0;
  int64_t samples = 0;
  do {
    WEIR_ASSIGN_OR_RETURN(const double once, run.Train(rows));
    seconds += once;
    samples += rows.row_count();
  } while (seconds < kRepeatSeconds && !quick);
  return static_cast<double>(samples) / seconds;
}

// samples/s, of each repeat. One thread runs on the processor that is quieter then, of the peer and
// of the products too; ours in 32 bits on the other as well.
struct Rates {
  std::vector<double> one_thread;
  std::vector<double> one_thread_mean;  // of both processors, which two threads have
  std::vector<double> two_threads;
  std::vector<double> bf16;  // one thread; empty without fast units for it
  std::string peer = "PyTorch";
  std::vector<double> peer_one_thread, peer_two_threads;  // empty: could not be measured
  double gemm = 0;                                        // the fastest products alone
};

Result<double> MeasureOurs(const data::RowBlock& rows, const Options& options, TrainingRun& run) {
  WEIR_ASSIGN_OR_RETURN(const double rate, Rate(run, rows, options.quick));
  WEIR_RETURN_IF_ERROR(run.Verify());
  return rate;
}

// Whether there is such a peer.
Result<bool> MeasurePeer(int64_t batch, bool quick, Rates* rates) {
  const int quieter = QuieterProcessor();
  std::vector<std::string> processors = {StrCat(quieter)};
  for (const int processor : TwoProcessors()) {
    if (processor != quieter) processors.push_back(StrCat(processor));
  }
  WEIR_ASSIGN_OR_RETURN(
      const auto result,
      RunPeerScript("pytorch_dlrm.py",
                    {StrCat("--batches=", batch), StrCat("--seconds=", quick ? 0 : kRepeatSeconds),
                     StrCat("--repeats=", quick ? 1 : kRepeatsOfATurn),
                     StrCat("--processors=", StrJoin(processors, ","))}));
  if (!result) return false;
  rates->peer_one_thread.push_back(result->values.at(StrCat("batch_", batch, "_threads_1")));
  rates->peer_two_threads.push_back(result->values.at(StrCat("batch_", batch, "_threads_2")));
  rates->peer = result->peer;
  return true;
}

// One of each of our runs, and the products.
struct Runs {
  explicit Runs(int64_t batch)
      : one_thread(batch, 1),
        two_threads(batch, 2),
        bf16(batch, 1, v1::ModelConfig::BF16),
        gemm(batch) {}

  Status WarmUp(const data::RowBlock& rows) {
    for (TrainingRun* run : {&one_thread, &two_threads, &bf16}) {
      for (int pass = 0; pass < kWarmUpPasses; ++pass) {
        WEIR_RETURN_IF_ERROR(run->Train(rows).status());
      }
      WEIR_RETURN_IF_ERROR(run->Verify());
    }
    return OkStatus();
  }

  TrainingRun one_thread, two_threads, bf16;
  GemmLimit gemm;
};

Status MeasureOneThread(const data::RowBlock& rows, const Options& options, Runs* runs,
                        Rates* rates) {
  const int quieter = QuieterProcessor();
  std::vector<double> both;
  for (const int processor : TwoProcessors()) {
    const OnProcessors on({processor});
    WEIR_ASSIGN_OR_RETURN(const double rate, MeasureOurs(rows, options, runs->one_thread));
    both.push_back(rate);
    if (processor == quieter) rates->one_thread.push_back(rate);
  }
  rates->one_thread_mean.push_back(std::accumulate(both.begin(), both.end(), 0.0) /
                                   static_cast<double>(both.size()));
  const OnProcessors on({quieter});
  runs->gemm.Measure(options.quick ? 0 : kRepeatSeconds);
  if (!kernels::CpuIsFasterInBf16()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(const double rate, MeasureOurs(rows, options, runs->bf16));
  rates->bf16.push_back(rate);
  return OkStatus();
}

Status MeasureTwoThreads(const data::RowBlock& rows, const Options& options, Runs* runs,
                         Rates* rates) {
  WEIR_ASSIGN_OR_RETURN(const double rate, MeasureOurs(rows, options, runs->two_threads));
  rates->two_threads.push_back(rate);
  return OkStatus();
}

// All in turns.
Result<Rates> Measure(int64_t batch, const Options& options) {
  const data::RowBlock rows = RandomRows(options.quick ? 512 : batch * kDistinctBatches);
  Runs runs(batch);
  WEIR_RETURN_IF_ERROR(runs.WarmUp(rows));
  Rates rates;
  bool has_peer = true;
  for (int turn = 0; turn < std::min(options.repeats, kMaxTurns); ++turn) {
    for (int repeat = 0; repeat < (options.quick ? 1 : kRepeatsOfATurn); ++repeat) {
      WEIR_RETURN_IF_ERROR(MeasureOneThread(rows, options, &runs, &rates));
      WEIR_RETURN_IF_ERROR(MeasureTwoThreads(rows, options, &runs, &rates));
    }
    if (has_peer) {
      WEIR_ASSIGN_OR_RETURN(has_peer, MeasurePeer(batch, options.quick, &rates));
    }
  }
  rates.gemm = runs.gemm.SamplesPerSecond();
  return rates;
}

double MedianOrNothing(const std::vector<double>& values) {
  return values.empty() ? 0 : Median(values);
}

void AddLines(const Size& size, const Rates& rates, Lines* lines) {
  const double one = Median(rates.one_thread), two = Median(rates.two_threads);
  const double peer_one = MedianOrNothing(rates.peer_one_thread);
  const auto add = [&](const std::string& name, double value, const std::string& peer,
                       double peer_value, double goal, const char* precision = "f32") {
    lines->push_back({.name = StrCat("train/", precision, "/batch_", size.batch, name),
                      .value = value,
                      .unit = "samples/s",
                      .peer = peer,
                      .peer_value = peer_value,
                      .goal = goal});
  };
  add("", one, rates.peer + ", 1 thread", peer_one, size.goal);
  add("/of_gemm", one, "the fastest products alone", rates.gemm, 0.8);
  // One batch over two threads there, a batch for each here: Hogwild is what a user would turn on.
  add("/threads_2", two, rates.peer + ", 2 threads, one batch",
      MedianOrNothing(rates.peer_two_threads), 1.5);
  add("/threads_2/of_1", two, "one thread, mean of both processors", Median(rates.one_thread_mean),
      1.85);
  if (rates.bf16.empty()) return;
  add("", Median(rates.bf16), rates.peer + " in F32, 1 thread", peer_one, size.bf16_goal, "bf16");
}

Line ReadingLine(int64_t batch, double samples_per_second, double reading_seconds) {
  return {.name = StrCat("train/f32/batch_", batch, "/reading"),
          .value = reading_seconds * 1e6,
          .unit = "us/sample",
          .peer = "a step of one thread",
          .peer_value = 1e6 / samples_per_second,
          .goal = kReadingGoal,
          .better = Better::kLess};
}

}  // namespace

Result<Lines> BenchTrain(const Options& options) {
  const OnProcessors on(TwoProcessors());
  Lines lines;
  for (const Size& size : kSizes) {
    if (options.quick && size.batch > 128) break;
    WEIR_ASSIGN_OR_RETURN(const Rates rates, Measure(size.batch, options));
    AddLines(size, rates, &lines);
    if (size.batch == kReadingBatch || options.quick) {
      const OnProcessors on_one({QuieterProcessor()});
      WEIR_ASSIGN_OR_RETURN(const double reading, ReadSecondsPerRow(options));
      lines.push_back(ReadingLine(size.batch, Median(rates.one_thread), reading));
    }
  }
  if (!kernels::CpuIsFasterInBf16()) {
    std::cout << "train/bf16: verified, not measured: this processor has no fast units for it\n";
  }
  return lines;
}

}  // namespace weir::bench
