// Where the time of a training step goes: one thread without servers, each phase timed by itself.
// The whole is the sum of the parts' medians.

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "common/kernels/compute.h"
#include "common/kernels/cpu_kernels.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/measure.h"
#include "tools/bench/peer_script.h"
#include "tools/bench/processors.h"
#include "tools/bench/sections.h"
#include "tools/bench/step_layers.h"
#include "tools/bench/training_run.h"
#include "worker/model/dlrm.h"

namespace weir::bench {
namespace {

constexpr double kPeerSeconds = 0.6;  // of a repeat

enum Phase {
  kCutBatch,
  kReadRows,
  kLinearForward,
  kLinearBackwardData,
  kLinearBackwardWeight,
  kInteraction,
  kGatherScatter,
  kTranspose,
  kOther,
  kUpdate,
  kPhaseCount
};

constexpr std::array<std::string_view, kPhaseCount> kNames = {"cut_batch",
                                                              "read_rows",
                                                              "linear_forward",
                                                              "linear_backward_data",
                                                              "linear_backward_weight",
                                                              "interaction",
                                                              "gather_scatter",
                                                              "transpose",
                                                              "loss_and_rest",
                                                              "update"};

std::array<double, kPhaseCount> seconds;

template <typename Work>
auto Timed(Phase phase, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  struct Stop {
    Phase phase;
    std::chrono::steady_clock::time_point start;
    ~Stop() {
      seconds[phase] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  } stop{phase, start};
  return work();
}

using kernels::DeviceKernels;
using kernels::Precision;

// An entry of the CPU's kernels that is timed: Wrap<kF32, kTranspose,
// &DeviceKernels::transpose>::Call.
template <Precision precision, Phase phase, auto entry>
struct Wrap;
template <Precision precision, Phase phase, typename... Arguments,
          void (*DeviceKernels::*entry)(Arguments...)>
struct Wrap<precision, phase, entry> {
  static void Call(Arguments... arguments) {
    static const DeviceKernels& kernels = *kernels::CpuCompute(precision).kernels;
    Timed(phase, [&] { (kernels.*entry)(arguments...); });
  }
};

template <Precision precision>
DeviceKernels TimedKernels() {
  using Table = DeviceKernels;
  Table table = *kernels::CpuCompute(precision).kernels;
  table.linear_forward = Wrap<precision, kLinearForward, &Table::linear_forward>::Call;
  table.linear_backward_data =
      Wrap<precision, kLinearBackwardData, &Table::linear_backward_data>::Call;
  table.linear_backward_weight =
      Wrap<precision, kLinearBackwardWeight, &Table::linear_backward_weight>::Call;
  table.transpose = Wrap<precision, kTranspose, &Table::transpose>::Call;
  table.pool_tables = Wrap<precision, kGatherScatter, &Table::pool_tables>::Call;
  table.scatter_tables = Wrap<precision, kGatherScatter, &Table::scatter_tables>::Call;
  table.interaction_forward = Wrap<precision, kInteraction, &Table::interaction_forward>::Call;
  table.interaction_backward = Wrap<precision, kInteraction, &Table::interaction_backward>::Call;
  return table;
}

// A worker's main path without its threads.
class TimedRun {
 public:
  TimedRun(int64_t batch_size, v1::ModelConfig::Precision precision)
      : batch_size_(batch_size),
        config_(TrainingConfig(batch_size, precision)),
        layout_(config_, 1),
        client_(config_, layout_),
        kernels_(precision == v1::ModelConfig::BF16 ? TimedKernels<Precision::kBf16>()
                                                    : TimedKernels<Precision::kF32>()),
        model_(layout_, TimedCompute()),
        gradients_(static_cast<size_t>(layout_.flat_element_count())),
        rows_(static_cast<size_t>(batch_size * kTables * layout_.embedding_dimension())),
        row_gradients_(rows_.size()) {}

  Status Train(const data::RowBlock& rows) {
    logloss_sum_ = 0;
    for (int64_t begin = 0; begin < rows.row_count(); begin += batch_size_) {
      WEIR_RETURN_IF_ERROR(Step(rows, begin));
    }
    last_logloss_ = logloss_sum_ / static_cast<double>(rows.row_count());
    if (first_logloss_ == 0) first_logloss_ = last_logloss_;
    return OkStatus();
  }

  Status CreateRows() { return CreateAllRows(&client_); }
  // Of the first Train and the last.
  Status Verify() const { return VerifyLearning(first_logloss_, last_logloss_); }

 private:
  kernels::Compute TimedCompute() const {
    kernels::Compute compute = kernels::CpuCompute(Precision::kF32);
    compute.kernels = &kernels_;
    return compute;
  }

  Status Step(const data::RowBlock& block, int64_t begin) {
    Timed(kCutBatch, [&] { data::MakeBatch(block, begin, begin + batch_size_, &batch_); });
    size_t unique_count = 0;
    for (const data::TableIds& ids : batch_.tables) unique_count += ids.unique.size();
    const size_t row_elements = unique_count * static_cast<size_t>(layout_.embedding_dimension());
    const std::span<float> rows = rows_.span().first(row_elements);
    const std::span<float> row_gradients = row_gradients_.span().first(row_elements);
    std::unique_ptr<worker::RowPull> pull;
    WEIR_RETURN_IF_ERROR(Timed(kReadRows, [&] {
      pull = client_.PullRows(batch_, false);
      return client_.AwaitRows(pull.get(), rows);
    }));
    const double before = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    std::optional<Result<double>> loss;
    const double whole = Seconds([&] {
      loss.emplace(
          model_.Train(device::CpuStream(), client_.replica(), batch_,
                       device::OnCpu(std::span<const float>(rows)), batch_size_,
                       {device::OnCpu(gradients_.data()), device::OnCpu(row_gradients), {}}));
    });
    WEIR_RETURN_IF_ERROR(loss->status());
    logloss_sum_ += **loss;
    seconds[kOther] += whole - (std::accumulate(seconds.begin(), seconds.end(), 0.0) - before);
    worker::StepGradients step;
    step.batch = &batch_;
    step.pull = pull.get();
    step.dense = device::OnCpu(gradients_.span());
    step.rows = row_gradients;
    return Timed(kUpdate, [&] { return client_.Push(step).status(); });
  }

  const int64_t batch_size_;
  const v1::Config config_;
  const ModelLayout layout_;
  worker::EmbeddedClient client_;
  const DeviceKernels kernels_;
  model::Dlrm model_;
  data::Batch batch_;
  tensor::AlignedBuffer gradients_;
  tensor::AlignedBuffer rows_, row_gradients_;  // of a batch whose ids are all different
  double logloss_sum_ = 0, first_logloss_ = 0, last_logloss_ = 0;
};

using Samples = std::array<std::vector<double>, kPhaseCount>;  // us a sample, of each pass

void AddLines(const std::string& name, const Samples& us, Lines* lines) {
  std::array<double, kPhaseCount> median;
  std::ranges::transform(us, median.begin(), Median);
  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    lines->push_back({.name = StrCat("step/", name, "/", kNames[phase]),
                      .value = median[phase],
                      .unit = "us/sample",
                      .peer = "the whole step",
                      .peer_value = std::accumulate(median.begin(), median.end(), 0.0),
                      .better = Better::kLess});
  }
}

Result<Samples> Measure(int64_t batch, v1::ModelConfig::Precision precision,
                        const Options& options) {
  const data::RowBlock rows = RandomRows(batch * (options.quick ? 2 : 32));
  TimedRun run(batch, precision);
  WEIR_RETURN_IF_ERROR(run.CreateRows());
  for (int i = 0; i < kWarmUpPasses; ++i) WEIR_RETURN_IF_ERROR(run.Train(rows));
  Samples us;
  for (int i = 0; i < options.repeats; ++i) {
    seconds.fill(0);
    WEIR_RETURN_IF_ERROR(run.Train(rows));
    const double scale = 1e6 / static_cast<double>(rows.row_count());
    for (size_t phase = 0; phase < kPhaseCount; ++phase)
      us[phase].push_back(scale * seconds[phase]);
  }
  WEIR_RETURN_IF_ERROR(run.Verify());
  return us;
}

// The same of PyTorch, in coarser parts, where there is one.
void AddPeerLines(const std::string& name, int64_t batch, bool bf16, const Options& options,
                  Lines* lines) {
  std::vector<std::string> arguments = {StrCat("--batch=", batch),
                                        StrCat("--processor=", QuieterProcessor()),
                                        StrCat("--seconds=", options.quick ? 0 : kPeerSeconds)};
  if (bf16) arguments.push_back("--bf16");
  const auto result = RunPeerScript(options.peers, "pytorch_step.py", arguments);
  if (!result.ok()) std::cout << "no peer: " << result.status().message() << "\n";
  if (!result.ok() || !*result) return;
  std::map<std::string, double> parts = (*result)->values;
  const double whole = parts["all"];
  parts.erase("all");
  for (const auto& [part, us] : parts) {
    lines->push_back({.name = StrCat("step/", name, "/pytorch/", part),
                      .value = us,
                      .unit = "us/sample",
                      .peer = StrCat("the whole step of ", (*result)->peer),
                      .peer_value = whole,
                      .better = Better::kLess});
  }
}

Status MeasureBoth(const std::string& name, int64_t batch, v1::ModelConfig::Precision precision,
                   const Options& options, Lines* lines) {
  WEIR_ASSIGN_OR_RETURN(const Samples samples, Measure(batch, precision, options));
  AddLines(name, samples, lines);
  AddPeerLines(name, batch, precision == v1::ModelConfig::BF16, options, lines);
  return OkStatus();
}

}  // namespace

Result<Lines> BenchStep(const Options& options) {
  Lines lines;
  for (const int64_t batch : {128, 512, 2048}) {
    if (options.quick && batch > 128) break;
    const std::string name = StrCat("batch_", batch);
    WEIR_RETURN_IF_ERROR(MeasureBoth(name, batch, v1::ModelConfig::F32, options, &lines));
    WEIR_RETURN_IF_ERROR(MeasureLayers(batch, options, &lines));
    if (!kernels::CpuIsFasterInBf16()) continue;
    WEIR_RETURN_IF_ERROR(
        MeasureBoth("bf16/" + name, batch, v1::ModelConfig::BF16, options, &lines));
  }
  return lines;
}

}  // namespace weir::bench
