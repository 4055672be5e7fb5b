// What selecting costs each of n trainers that agree on what they send, 1 % of the elements of the
// paper's MLPs: DEFT's pieces beside the whole, by a heap as its paper counts it and by our own
// selection; ExDyna's partitions beside a plain scan of them. The slowest trainer counts.
//
// And in training: how evenly ExDyna's partitions share what is selected, and its threshold beside
// the norm of what is not sent (agree_rounds.h).

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/compress/exdyna_blocks.h"
#include "tools/bench/agree_rounds.h"
#include "tools/bench/agree_shares.h"
#include "tools/bench/measure.h"
#include "tools/bench/sections.h"

namespace weir::bench {
namespace {

constexpr double kSparsity = 0.99;
constexpr int kTrainers[] = {2, 4, 8, 16, 32};
constexpr double kGoalOfModel = 0.8;    // of the speed-up that the paper's cost model says
constexpr double kGoalOfLinear = 0.95;  // of n
constexpr double kGoalOfScan = 1 / 1.1;
constexpr int kMoreRepeats = 3;
constexpr double kBlockSeconds = 2e-3;  // a shorter piece of work is done so often

// Of each, in turns.
std::vector<double> SecondsOfEach(int repeats, const std::vector<std::function<void()>>& works) {
  std::vector<std::function<double()>> timed;
  for (const auto& work : works) {
    work();
    const int times = std::max(1, static_cast<int>(kBlockSeconds / Seconds(work)));
    timed.emplace_back([&work, times] {
      const double all = Seconds([&] {
        for (int i = 0; i < times; ++i) work();
      });
      return all / times;
    });
  }
  return MedianOwnSeconds(repeats, timed);
}

// How many times as fast as the whole the slowest trainer selects its share.
template <typename Selection>
double SpeedUp(const AgreeTensors& tensors, const std::vector<AgreeShare>& shares, int repeats) {
  std::vector<std::function<void()>> works;
  const auto add = [&](const AgreeShare& share) {
    works.emplace_back(
        [selection = std::make_shared<Selection>(tensors, share)] { (*selection)(); });
  };
  add(WholeShare(tensors));
  std::ranges::for_each(shares, add);
  const std::vector<double> seconds = SecondsOfEach(repeats, works);
  return seconds[0] / *std::max_element(seconds.begin() + 1, seconds.end());
}

Status VerifyHeap(const AgreeTensors& tensors) {
  HeapSelection heap(tensors, WholeShare(tensors));
  LinearSelection linear(tensors, WholeShare(tensors));
  heap();
  linear();
  if (heap.threshold() == linear.threshold()) return OkStatus();
  return Internal(StrCat("agree: the least of the largest is ", heap.threshold(), " by a heap and ",
                         linear.threshold(), " by ours"));
}

void MeasureDeft(const AgreeTensors& tensors, int trainers, int repeats, Lines* lines) {
  const DeftShares by_heap = PackDeftShares(tensors, trainers, compress::DeftCost::kHeap);
  const double whole = CostOf(compress::DeftCost::kHeap, tensors.element_count(), tensors.kept());
  lines->push_back({.name = StrCat("agree/deft_heap/n", trainers),
                    .value = SpeedUp<HeapSelection>(tensors, by_heap.shares, repeats),
                    .unit = "times",
                    .peer = "the paper's cost model",
                    .peer_value = whole / by_heap.costliest,
                    .goal = kGoalOfModel});
  const DeftShares by_elements = PackDeftShares(tensors, trainers, compress::DeftCost::kElements);
  lines->push_back({.name = StrCat("agree/deft_linear/n", trainers),
                    .value = SpeedUp<LinearSelection>(tensors, by_elements.shares, repeats),
                    .unit = "times",
                    .peer = "trainers",
                    .peer_value = static_cast<double>(trainers),
                    .goal = kGoalOfLinear});
}

size_t PlainScan(const AgreeTensors& tensors, std::span<const compress::LayerRange> ranges,
                 float threshold) {
  size_t count = 0;
  for (const compress::LayerRange& range : ranges) {
    ForEachStripeIn(range, *tensors.residuals()[range.layer],
                    [&](int64_t, std::span<float> values) {
                      for (const float value : values) count += std::fabs(value) >= threshold;
                    });
  }
  KeepAlive(&count);
  return count;
}

// The first partition, as the first step has it; all are alike.
std::vector<compress::LayerRange> PartitionOf(const AgreeTensors& tensors, int trainers) {
  const compress::ExDynaRange range =
      compress::ExDynaBlocks(tensors.element_count(), trainers).RangeOf(0);
  return compress::RangesOf(tensors.sizes(), range.begin, range.end);
}

float ThresholdOf(const AgreeTensors& tensors) {
  LinearSelection whole(tensors, WholeShare(tensors));
  whole();
  return whole.threshold();
}

Status MeasureExDyna(const AgreeTensors& tensors, int trainers, int repeats, Lines* lines) {
  const float threshold = ThresholdOf(tensors);
  const auto ranges = PartitionOf(tensors, trainers);
  compress::HostRangeSelect select(tensors.residuals());
  size_t selected = 0, counted = 0;
  const auto selection = [&] {
    compress::LayerIndexes indexes(tensors.sizes().size());
    selected = select.Reaching(ranges, threshold, &indexes);
  };
  const auto scan = [&] { counted = PlainScan(tensors, ranges, threshold); };
  const std::vector<double> seconds = SecondsOfEach(repeats, {selection, scan});
  lines->push_back({.name = StrCat("agree/exdyna_scan/n", trainers),
                    .value = seconds[0] * 1e6,
                    .unit = "us",
                    .peer = "a plain scan of the partition",
                    .peer_value = seconds[1] * 1e6,
                    .goal = kGoalOfScan,
                    .better = Better::kLess});
  if (selected == counted) return OkStatus();
  return Internal(
      StrCat("agree: of a partition ", selected, " are selected, and ", counted, " counted"));
}

}  // namespace

Result<Lines> BenchAgree(const Options& options) {
  Lines lines;
  const AgreeTensors tensors(kSparsity);
  WEIR_RETURN_IF_ERROR(VerifyHeap(tensors));
  // The slowest of many trainers is told by few repeats too slow.
  const int repeats = options.quick ? options.repeats : kMoreRepeats * options.repeats;
  for (const int trainers : kTrainers) {
    if (options.quick && trainers > 4) break;
    MeasureDeft(tensors, trainers, repeats, &lines);
    WEIR_RETURN_IF_ERROR(MeasureExDyna(tensors, trainers, repeats, &lines));
  }
  WEIR_ASSIGN_OR_RETURN(const Lines more, MeasureExDynaRounds(options.quick));
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

}  // namespace weir::bench
