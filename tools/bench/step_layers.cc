#include "tools/bench/step_layers.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/strings.h"
#include "common/device/cpu_device.h"
#include "tools/bench/dlrm_shape.h"
#include "tools/bench/measure.h"
#include "tools/bench/training_run.h"
#include "worker/embedded/embedded_client.h"
#include "worker/model/dlrm.h"

namespace weir::bench {
namespace {

using kernels::DeviceKernels;
using kernels::Precision;

double backward_seconds = 0;  // of the kernels of TimedBackward, in the batch at hand

template <auto entry>  // of the CPU's kernels, timed
struct Wrap;
template <typename... Arguments, void (*DeviceKernels::*entry)(Arguments...)>
struct Wrap<entry> {
  static void Call(Arguments... arguments) {
    static const DeviceKernels& kernels = *kernels::CpuCompute(Precision::kF32).kernels;
    const auto start = std::chrono::steady_clock::now();
    (kernels.*entry)(arguments...);
    backward_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

const DeviceKernels& TimedBackward() {
  using Table = DeviceKernels;
  static const Table timed = [] {
    Table table = *kernels::CpuCompute(Precision::kF32).kernels;
    table.linear_backward_data = Wrap<&Table::linear_backward_data>::Call;
    table.linear_backward_weight = Wrap<&Table::linear_backward_weight>::Call;
    table.relu_backward = Wrap<&Table::relu_backward>::Call;
    table.interaction_backward = Wrap<&Table::interaction_backward>::Call;
    table.scatter_tables = Wrap<&Table::scatter_tables>::Call;
    return table;
  }();
  return timed;
}

// When, in the backward pass, each gradient was whole: seconds of its kernels, of all batches.
class HeardAt final : public model::GradientListener {
 public:
  struct Gradient {
    std::string name;  // "top/3", "rows"
    double seconds = 0;
  };

  explicit HeardAt(const ModelLayout& layout) : layout_(layout) {}
  void OnTensors(device::Stream& /*stream*/, uint32_t begin, uint32_t /*end*/) override {
    const std::string& weight = layout_.tensors()[begin].name;
    Add(weight.substr(0, weight.rfind('/')));
  }
  void OnRows(device::Stream& /*stream*/) override { Add("rows"); }

  const std::vector<Gradient>& gradients() const { return gradients_; }

 private:
  void Add(const std::string& name) {
    const auto found = std::ranges::find(gradients_, name, &Gradient::name);
    Gradient& at = found == gradients_.end() ? gradients_.emplace_back(Gradient{name}) : *found;
    at.seconds += backward_seconds;
  }

  const ModelLayout& layout_;
  std::vector<Gradient> gradients_;
};

std::vector<data::Batch> RandomBatches(int64_t batch_size, int count) {
  const data::RowBlock rows = RandomRows(batch_size * count);
  std::vector<data::Batch> batches(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    data::MakeBatch(rows, i * batch_size, (i + 1) * batch_size, &batches[static_cast<size_t>(i)]);
  }
  return batches;
}

// Forward, loss and backward of batches whose rows are there; parameters stay as they are.
class ModelRun {
 public:
  ModelRun(int64_t batch_size, int64_t slice_rows)
      : config_(TrainingConfig(batch_size)),
        layout_(config_, 1),
        client_(config_, layout_),
        model_(layout_, ComputeInSlices(slice_rows)),
        dense_(static_cast<size_t>(layout_.flat_element_count())),
        rows_(static_cast<size_t>(batch_size * kTables * layout_.embedding_dimension())),
        row_gradients_(rows_.size()),
        heard_(layout_) {
    std::ranges::fill(rows_.span(), 0.1f);
  }

  // The seconds that it took.
  double Train(const std::vector<data::Batch>& batches) {
    return Seconds([&] {
      for (const data::Batch& batch : batches) Train(batch);
    });
  }

  double backward() const { return backward_; }
  const HeardAt& heard() const { return heard_; }
  const Status& status() const { return status_; }

 private:
  static kernels::Compute ComputeInSlices(int64_t rows) {
    kernels::Compute compute = kernels::CpuCompute(Precision::kF32);
    compute.kernels = &TimedBackward();
    compute.slice_rows = rows;
    return compute;
  }

  void Train(const data::Batch& batch) {
    size_t count = 0;
    for (const data::TableIds& ids : batch.tables) count += ids.unique.size();
    count *= static_cast<size_t>(layout_.embedding_dimension());
    backward_seconds = 0;
    const model::GradientBuffers gradients{device::OnCpu(dense_.data()),
                                           device::OnCpu(row_gradients_.span().first(count)),
                                           {},
                                           &heard_};
    const auto loss = model_.Train(device::CpuStream(), client_.replica(), batch,
                                   device::OnCpu(std::span<const float>(rows_.span()).first(count)),
                                   batch.row_count, gradients);
    backward_ += backward_seconds;
    status_ = Joined(status_, loss.status());
  }

  const v1::Config config_;
  const ModelLayout layout_;
  worker::EmbeddedClient client_;
  model::Dlrm model_;
  tensor::AlignedBuffer dense_, rows_, row_gradients_;
  HeardAt heard_;
  double backward_ = 0;
  Status status_;
};

struct Way {
  std::string name;
  std::unique_ptr<ModelRun> run;
};

std::vector<Way> Ways(int64_t batch, int64_t slice_rows) {
  std::vector<Way> ways;
  ways.push_back({"in_slices", std::make_unique<ModelRun>(batch, slice_rows)});
  if (batch > slice_rows) ways.push_back({"in_one", std::make_unique<ModelRun>(batch, batch)});
  return ways;
}

void AddLayerLines(const std::string& name, const Way& way, double samples, Lines* lines) {
  const double scale = 1e6 / samples, backward = way.run->backward();
  for (const HeardAt::Gradient& gradient : way.run->heard().gradients()) {
    if (gradient.seconds >= backward) continue;  // the last
    lines->push_back({.name = StrCat(name, "/to_come/", way.name, "/", gradient.name),
                      .value = scale * (backward - gradient.seconds),
                      .unit = "us/sample",
                      .peer = "the whole backward pass",
                      .peer_value = scale * backward});
  }
}

}  // namespace

Status MeasureLayers(int64_t batch, const Options& options, Lines* lines) {
  const int64_t slice_rows = kernels::CpuCompute(Precision::kF32).slice_rows;
  const auto batches = RandomBatches(batch, options.quick ? 1 : static_cast<int>(16'384 / batch));
  const std::vector<Way> ways = Ways(batch, slice_rows);
  std::vector<std::function<double()>> works(ways.size());
  for (size_t i = 0; i < ways.size(); ++i)
    works[i] = [&, i] { return ways[i].run->Train(batches); };
  const std::vector<double> median = MedianOwnSeconds(options.repeats, works);
  const std::string name = StrCat("step/batch_", batch);
  const auto pass = static_cast<double>(batch * std::ssize(batches));
  for (const Way& way : ways) {
    WEIR_RETURN_IF_ERROR(way.run->status());
    AddLayerLines(name, way, pass * (options.repeats + 1), lines);
  }
  if (ways.size() < 2) return OkStatus();
  lines->push_back({.name = StrCat(name, "/in_one_slice"),
                    .value = 1e6 * median[1] / pass,
                    .unit = "us/sample",
                    .peer = StrCat("forward, loss and backward in slices of ", slice_rows),
                    .peer_value = 1e6 * median[0] / pass,
                    .better = Better::kLess});
  return OkStatus();
}

}  // namespace weir::bench
