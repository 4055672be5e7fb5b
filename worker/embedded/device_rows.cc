#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "common/base/random_streams.h"
#include "common/device/buffers.h"
#include "common/device/step_order.h"
#include "common/saved_model/frames.h"
#include "common/store/row_table.h"
#include "worker/embedded/row_numbers.h"
#include "worker/embedded/row_parameters.h"

namespace weir::worker {
namespace {

// Rows that are copied at a time, when a model is loaded or saved.
constexpr size_t kCopiedRows = 65536;

size_t RowCount(const ModelLayout& layout) {
  size_t count = 0;
  for (const TableSpec& table : layout.tables()) count += static_cast<size_t>(table.row_count);
  return count;
}

// All rows of all tables, as many as the config has, are made at the start. Rows are read while
// another step changes them, as the dense parameters are (common/base/hogwild.h).
class DeviceRows : public RowParameters {
 public:
  DeviceRows(const ModelLayout& layout, const store::UpdateRule& rule,
             const kernels::Compute& compute)
      : layout_(layout),
        rule_(rule),
        compute_(compute),
        dimension_(static_cast<size_t>(layout.embedding_dimension())),
        state_width_(static_cast<size_t>(rule.StatePerRow(layout.embedding_dimension()))),
        values_(*compute.device, RowCount(layout) * dimension_, "the embedding tables"),
        state_(*compute.device, RowCount(layout) * state_width_, "the state of their update rule"),
        is_trained_(*compute.device, RowCount(layout), "the embedding tables"),
        numbers_(layout, *compute.device),
        order_(*compute.device) {
    failure_ = Initialize();
  }

  bool is_on_device() const override { return true; }

  std::unique_ptr<RowPull> Pull(const data::Batch& batch, bool /*read_only*/) override {
    return std::make_unique<DevicePull>(&batch);
  }

  Status Read(RowPull*, uint64_t, std::span<float>) override {
    LOG(FATAL) << "these rows are on a device";
    return OkStatus();
  }

  Status ReadOnDevice(RowPull* base, device::Stream& stream, device::Span<float> rows) override {
    WEIR_RETURN_IF_ERROR(failure_);
    auto& pull = static_cast<DevicePull&>(*base);
    pull.numbers = numbers_.Upload(*pull.batch, stream);
    compute_.update->read_rows(stream, stored(), pull.numbers->view(), rows.data);
    return OkStatus();
  }

  Status Apply(const StepGradients& gradients, uint64_t step) override {
    CHECK(gradients.stream != nullptr && gradients.pull != nullptr);
    device::Stream& stream = *gradients.stream;
    // Not uploaded here: nobody waits for it before the numbers are written again.
    const auto& pull = static_cast<const DevicePull&>(*gradients.pull);
    order_.After(stream, [&] {
      compute_.update->update_rows(stream, rule_.StepAt(step), stored(), pull.numbers->view(),
                                   gradients.rows_on_device.data);
    });
    return OkStatus();
  }

  Status AwaitSteps() override { return order_.Synchronize(); }

  void StartAt(uint64_t) override {}  // nothing moves at rest

  Status Load(uint32_t table, uint64_t id, std::span<const float> values,
              std::span<const float> state) override {
    loaded_numbers_.push_back(numbers_.Of(table, id));
    loaded_values_.insert(loaded_values_.end(), values.begin(), values.end());
    loaded_state_.insert(loaded_state_.end(), state.begin(), state.end());
    return loaded_numbers_.size() < kCopiedRows ? OkStatus() : EndLoad();
  }

  Status EndLoad() override {
    if (loaded_numbers_.empty()) return OkStatus();
    const auto stream = compute_.device->MakeStream();
    const auto numbers = Uploaded(*stream, loaded_numbers_);
    const auto values = Uploaded(*stream, loaded_values_);
    const auto state = Uploaded(*stream, loaded_state_);
    const kernels::RowNumbers view{numbers.data(), static_cast<int64_t>(numbers.size())};
    const auto write = [&](const device::Buffer<float>& from, size_t width,
                           device::Pointer<float> to) {
      compute_.update->write_rows(*stream, from.data(), view, static_cast<int64_t>(width), to);
    };
    write(values, dimension_, values_.data());
    write(state, state_width_, state_.data());
    WEIR_RETURN_IF_ERROR(stream->Synchronize());
    is_loaded_.resize(RowCount(layout_));
    for (const uint32_t number : loaded_numbers_) is_loaded_[number] = true;
    loaded_numbers_.clear();
    loaded_values_.clear();
    loaded_state_.clear();
    return OkStatus();
  }

  Status Save(uint64_t step, const std::function<Status(ByteSpan frames)>& take) override {
    for (const TableSpec& table : layout_.tables()) {
      const auto count = static_cast<size_t>(table.row_count);
      for (size_t begin = 0; begin < count; begin += kCopiedRows) {
        store::RowPartitionStore rows(layout_, rule_);
        WEIR_RETURN_IF_ERROR(Fetch(table.id, begin, std::min(count - begin, kCopiedRows), &rows));
        if (rows.row_count() > 0) {
          WEIR_RETURN_IF_ERROR(saved_model::TakeRows(step, &rows, take));
        }
      }
    }
    return OkStatus();
  }

 private:
  struct DevicePull : RowPull {
    explicit DevicePull(const data::Batch* b) : batch(b) {}
    const data::Batch* const batch;
    RowNumbers::Uploaded numbers;  // once the rows are read
  };

  kernels::StoredRows stored() const {
    return {values_.data(), state_.data(), is_trained_.data(), static_cast<int64_t>(dimension_),
            static_cast<int64_t>(state_width_)};
  }

  Status Initialize() {
    std::vector<float> state(state_width_);
    rule_.InitialState(dimension_, state);  // of which all is the same
    const auto stream = compute_.device->MakeStream();
    for (const TableSpec& table : layout_.tables()) {
      compute_.update->initialize_rows(*stream, stored(), numbers_.Of(table.id, 0), table.row_count,
                                       KeyedHash(layout_.seed(), RunStream::kInitialRow, table.id),
                                       1.0 / std::sqrt(static_cast<double>(table.row_count)),
                                       state.empty() ? 0 : state[0]);
    }
    return stream->Synchronize();
  }

  template <typename T>
  device::Buffer<T> Uploaded(device::Stream& stream, const std::vector<T>& from) const {
    device::Buffer<T> to(*compute_.device, from.size(), "loading a model");
    stream.CopyToDevice<T>(from, to.span());
    return to;
  }

  // Ids [begin, begin + count) of a table, those that were trained.
  Status Fetch(uint32_t table, size_t begin, size_t count, store::RowPartitionStore* rows) const {
    const size_t first = numbers_.Of(table, begin);
    std::vector<uint8_t> is_trained(count);
    std::vector<float> values(count * dimension_), state(count * state_width_);
    const auto stream = compute_.device->MakeStream();
    stream->CopyToHost<uint8_t>(is_trained_.span().subspan(first, count), is_trained);
    stream->CopyToHost<float>(values_.span().subspan(first * dimension_, values.size()), values);
    stream->CopyToHost<float>(state_.span().subspan(first * state_width_, state.size()), state);
    WEIR_RETURN_IF_ERROR(stream->Synchronize());
    for (size_t i = 0; i < count; ++i) {
      const bool is_loaded = !is_loaded_.empty() && is_loaded_[first + i];
      if (is_trained[i] == 0 && !is_loaded) continue;
      rows->Load(table, begin + i, std::span(values).subspan(i * dimension_, dimension_),
                 std::span(state).subspan(i * state_width_, state_width_));
    }
    return OkStatus();
  }

  const ModelLayout& layout_;
  const store::UpdateRule& rule_;
  const kernels::Compute compute_;
  const size_t dimension_, state_width_;
  device::Buffer<float> values_, state_;  // [rows, dimension_], [rows, state_width_]
  device::Buffer<uint8_t> is_trained_;    // [rows]
  RowNumbers numbers_;
  device::StepOrder order_;
  Status failure_;
  std::vector<uint32_t> loaded_numbers_;
  std::vector<float> loaded_values_, loaded_state_;
  std::vector<bool> is_loaded_;  // by number; empty: none was
};

}  // namespace

std::unique_ptr<RowParameters> MakeDeviceRows(const ModelLayout& layout,
                                              const store::UpdateRule& rule,
                                              const kernels::Compute& compute) {
  if (rule.moves_at_rest() || RowCount(layout) >= UINT32_MAX) return nullptr;
  return std::make_unique<DeviceRows>(layout, rule, compute);
}

}  // namespace weir::worker
