// Whole training steps in one process: cutting the batch, rows, forward, backward, update.

#include <iostream>
#include <numeric>

#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/gemm.h"
#include "tools/bench/measure.h"
#include "tools/bench/processors.h"
#include "tools/bench/read_cost.h"
#include "tools/bench/sections.h"
#include "tools/bench/training_peers.h"
#include "tools/bench/training_run.h"

namespace weir::bench {
namespace {

constexpr int64_t kDistinctBatches = 32;
constexpr double kRepeatSeconds = 0.6;
constexpr int kRepeatsOfATurn = 3;
constexpr int kMaxTurns = 3;  // each starts PyTorch

struct Size {
  int64_t batch;
  double goal;       // times the fastest peer in F32, on one thread
  double bf16_goal;  // with bfloat16 products; that peer stays in 32 bits
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
  double gemm = 0;           // the fastest products alone
};

Result<double> MeasureOurs(const data::RowBlock& rows, const Options& options, TrainingRun& run) {
  WEIR_ASSIGN_OR_RETURN(const double rate, Rate(run, rows, options.quick));
  WEIR_RETURN_IF_ERROR(run.Verify());
  return rate;
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
Result<Rates> Measure(int64_t batch, const Options& options, TrainingPeers* peers) {
  const data::RowBlock rows = RandomRows(options.quick ? 512 : batch * kDistinctBatches);
  Runs runs(batch);
  WEIR_RETURN_IF_ERROR(runs.WarmUp(rows));
  Rates rates;
  peers->MeasureAll(kernels::CpuIsFasterInBf16());
  for (int turn = 0; turn < std::min(options.repeats, kMaxTurns); ++turn) {
    for (int repeat = 0; repeat < (options.quick ? 1 : kRepeatsOfATurn); ++repeat) {
      WEIR_RETURN_IF_ERROR(MeasureOneThread(rows, options, &runs, &rates));
      WEIR_RETURN_IF_ERROR(MeasureTwoThreads(rows, options, &runs, &rates));
    }
    peers->MeasureFastest();
  }
  rates.gemm = runs.gemm.SamplesPerSecond();
  return rates;
}

double MedianOrNothing(const std::vector<double>& values) {
  return values.empty() ? 0 : Median(values);
}

// What stands beside a line: the fastest peer of a precision, and what it reached.
struct Beside {
  Beside(const TrainingPeers& peers, bool bf16, const std::vector<double>& rates)
      : name("PyTorch"), rate(MedianOrNothing(rates)) {
    if (const VariantRate* fastest = Fastest(peers.all(), bf16)) name = fastest->peer;
  }

  std::string name;
  double rate;  // samples/s; 0: could not be measured
};

// Our rate beside each variant's, which was measured once.
void AddVariantLines(const std::string& prefix, bool bf16, double ours, const TrainingPeers& peers,
                     Lines* lines) {
  for (const VariantRate& rate : peers.all()) {
    if (rate.variant.bf16 != bf16) continue;
    lines->push_back({.name = StrCat(prefix, "/", rate.variant.name),
                      .value = ours,
                      .unit = "samples/s",
                      .peer = rate.peer,
                      .peer_value = rate.samples_per_second});
  }
}

void AddLines(const Size& size, const Rates& rates, const TrainingPeers& peers, Lines* lines) {
  const double one = Median(rates.one_thread), two = Median(rates.two_threads);
  const std::string f32 = StrCat("train/f32/batch_", size.batch);
  const std::string bf16 = StrCat("train/bf16/batch_", size.batch);
  const auto add = [&](const std::string& name, double value, const std::string& peer,
                       double peer_value, double goal) {
    lines->push_back({.name = name,
                      .value = value,
                      .unit = "samples/s",
                      .peer = peer,
                      .peer_value = peer_value,
                      .goal = goal});
  };
  const Beside peer(peers, /*bf16=*/false, peers.one_thread());
  add(f32, one, peer.name + ", 1 thread", peer.rate, size.goal);
  add(f32 + "/of_gemm", one, "the fastest products alone", rates.gemm, 0.8);
  // One batch over two threads there, a batch for each here: Hogwild is what a user would turn on.
  add(f32 + "/threads_2", two, peer.name + ", 2 threads, one batch",
      MedianOrNothing(peers.two_threads()), 1.5);
  add(f32 + "/threads_2/of_1", two, "one thread, mean of both processors",
      Median(rates.one_thread_mean), 1.85);
  AddVariantLines(f32, /*bf16=*/false, one, peers, lines);
  if (rates.bf16.empty()) return;
  const double ours = Median(rates.bf16);
  const Beside bf16_peer(peers, /*bf16=*/true, peers.bf16());
  add(bf16, ours, bf16_peer.name + ", 1 thread", bf16_peer.rate, size.goal);
  add(bf16 + "/of_f32", ours, peer.name + " in F32, 1 thread", peer.rate, size.bf16_goal);
  AddVariantLines(bf16, /*bf16=*/true, ours, peers, lines);
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
    WEIR_ASSIGN_OR_RETURN(TrainingPeers peers, TrainingPeers::Make(size.batch, options));
    WEIR_ASSIGN_OR_RETURN(const Rates rates, Measure(size.batch, options, &peers));
    AddLines(size, rates, peers, &lines);
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
