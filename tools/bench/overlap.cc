// What computing loses while pushes are sent: the products of steps alone, and beside a link that
// is busy with the pushes of these steps, or as fast as it can. One thread of two processors has
// one left for the link; two threads have none.

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/strings.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/busy_link.h"
#include "tools/bench/gemm_layers.h"
#include "tools/bench/measure.h"
#include "tools/bench/processors.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

using Pace = Traffic::Pace;

constexpr double kSeconds = 0.4;  // of each measurement
constexpr double kGigabit = 125e6;

// Values in BF16. Rows, of which hardly any two of a batch are the same here, with an id of two
// bytes; layers with all elements, or with one of 100 and an index of a byte for each.
constexpr int64_t kValueBytes = 2;
constexpr int64_t RowBytes(int64_t batch) {
  return batch * kTables * (kDimension * kValueBytes + 2);
}
constexpr int64_t DensePush(int64_t batch) {
  return RowBytes(batch) + DenseElements() * kValueBytes;
}
constexpr int64_t DctPush(int64_t batch) {
  return RowBytes(batch) + DenseElements() / 100 * (kValueBytes + 1);
}

struct Beside {
  const char* name;
  Traffic traffic;
};

// The first is nothing.
std::vector<Beside> AllTraffic(int64_t batch) {
  constexpr int kMessages = static_cast<int>(kDlrmLayers.size()) + 1;  // a layer's each, and rows
  return {
      {"alone", {}},
      {"dct_99", {Pace::kEachStep, DctPush(batch)}},
      {"dct_99_by_layer", {Pace::kEachStep, DctPush(batch), kMessages}},
      {"dense", {Pace::kEachStep, DensePush(batch)}},
      {"dense_by_layer", {Pace::kEachStep, DensePush(batch), kMessages}},
      {"1gbit", {Pace::kByRate, DensePush(batch), 1, kGigabit}},
      {"always", {Pace::kAlways, DensePush(batch)}},
  };
}

// Threads that compute the products of steps, each of its own layers.
class Steps {
 public:
  Steps(int64_t batch, int threads) : batch_(batch) {
    for (int i = 0; i < threads; ++i) layers_.push_back(GemmLayers(batch));
  }

  // Seconds a sample, with kEachStep until the last push is answered.
  double Run(const Traffic& traffic, double seconds) {
    auto ends = MakeTransportEnds();
    status_ = Joined(status_, ends.status());
    if (!status_.ok()) return 0;
    BusyLink link(traffic, *std::move(ends));
    const double begin = MonotonicSeconds();
    std::atomic<int64_t> steps = 0;
    std::vector<std::thread> threads;
    for (auto& layers : layers_) {
      threads.emplace_back([&] {
        do {
          for (GemmLayer& layer : layers) RunByTable(kernels::CpuKernels(), &layer);
          ++steps;
          link.StepDone();
        } while (MonotonicSeconds() < begin + seconds);
      });
    }
    for (std::thread& thread : threads) thread.join();
    double spent = MonotonicSeconds() - begin;
    status_ = Joined(status_, link.Stop());
    if (traffic.pace == Pace::kEachStep) spent = MonotonicSeconds() - begin;
    gigabytes_per_second_ = static_cast<double>(link.sent_bytes()) / 1e9 / spent;
    return spent / static_cast<double>(steps * batch_);
  }

  const Status& status() const { return status_; }
  double gigabytes_per_second() const { return gigabytes_per_second_; }  // of the last run

 private:
  const int64_t batch_;
  std::vector<std::vector<GemmLayer>> layers_;
  Status status_;
  double gigabytes_per_second_ = 0;
};

// Of one way to send, with its bytes beside those of the last, which knows no pause.
void AddLines(const std::string& name, double each, double alone, double sent, double always_sent,
              Lines* lines) {
  lines->push_back({.name = name,
                    .value = 1 / each,
                    .unit = "samples/s",
                    .peer = "the same products alone",
                    .peer_value = 1 / alone});
  lines->push_back({.name = name + "/sent",
                    .value = sent,
                    .unit = "GB/s",
                    .peer = "dense pushes without a pause",
                    .peer_value = always_sent});
}

Status Measure(int64_t batch, int threads, const Options& options, Lines* lines) {
  Steps steps(batch, threads);
  const std::vector<Beside> all = AllTraffic(batch);
  std::vector<std::vector<double>> sent(all.size());
  std::vector<std::function<double()>> works;
  for (size_t i = 0; i < all.size(); ++i) {
    works.emplace_back([&, i] {
      const double each = steps.Run(all[i].traffic, options.quick ? 0 : kSeconds);
      sent[i].push_back(steps.gigabytes_per_second());
      return each;
    });
  }
  const std::vector<double> each = MedianOwnSeconds(options.repeats, works);
  WEIR_RETURN_IF_ERROR(steps.status());
  const std::string name = StrCat("overlap/batch_", batch, "/threads_", threads, "/");
  for (size_t i = 1; i < all.size(); ++i) {
    AddLines(name + all[i].name, each[i], each[0], Median(sent[i]), Median(sent.back()), lines);
  }
  return OkStatus();
}

}  // namespace

Result<Lines> BenchOverlap(const Options& options) {
  const OnProcessors on(TwoProcessors());
  Lines lines;
  for (const int64_t batch : {128, 2048}) {
    if (options.quick && batch > 128) break;
    for (const int threads : {1, 2}) {
      WEIR_RETURN_IF_ERROR(Measure(batch, threads, options, &lines));
    }
  }
  return lines;
}

}  // namespace weir::bench
