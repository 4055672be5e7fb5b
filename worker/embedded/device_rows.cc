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
#include "worker/embedded/loaded_rows.h"
#include "worker/embedded/row_numbers.h"
#include "worker/embedded/row_parameters.h"
#include "worker/embedded/row_rests.h"

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
        state_width_(static_cast<size_t>(rule.StatePerRow(layout.embedding_dimension())) -
                     (rule.moves_at_rest() ? 1 : 0)),
        values_(*compute.device, RowCount(layout) * dimension_, "the embedding tables"),
        state_(*compute.device, RowCount(layout) * state_width_, "the state of their update rule"),
        is_trained_(*compute.device, RowCount(layout), "the embedding tables"),
        numbers_(layout, *compute.device),
        rests_(rule, RowCount(layout)),
        order_(*compute.device),
        loaded_(compute, RowCount(layout)) {
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

  Status ReadOnDevice(RowPull* base, uint64_t step, device::Stream& stream,
                      device::Span<float> rows) override {
    WEIR_RETURN_IF_ERROR(failure_);
    auto& pull = static_cast<DevicePull&>(*base);
    pull.numbers = numbers_.Upload(*pull.batch, stream);
    RowNumbers::Numbers& numbers = *pull.numbers;
    if (rests_.empty()) {
      compute_.update->read_rows(stream, stored(), numbers.view(), rows.data);
      return OkStatus();
    }
    rests_.UploadToRead(numbers.on_host(), step, *compute_.device, stream, &numbers.to_read);
    compute_.update->read_rested_rows(stream, rule_.StepAt(step + 1), stored(), numbers.view(),
                                      numbers.to_read.device().data, rows.data);
    return OkStatus();
  }

  Status Apply(const StepGradients& gradients, uint64_t step) override {
    CHECK(gradients.stream != nullptr && gradients.pull != nullptr);
    device::Stream& stream = *gradients.stream;
    // Not uploaded here: nobody waits for it before the numbers are written again.
    RowNumbers::Numbers& numbers = *static_cast<const DevicePull&>(*gradients.pull).numbers;
    const kernels::UpdateStep all = rule_.StepAt(step);
    order_.After(stream, [&] {
      if (!rests_.empty()) {
        rests_.UploadToStep(numbers.on_host(), step, *compute_.device, stream, &numbers.to_step);
        compute_.update->rest_rows(stream, all, stored(), numbers.view(),
                                   numbers.to_step.device().data);
      }
      compute_.update->update_rows(stream, all, stored(), numbers.view(),
                                   gradients.rows_on_device.data);
    });
    return OkStatus();
  }

  Status AwaitSteps() override { return order_.Synchronize(); }

  void StartAt(uint64_t step) override { rests_.StartAt(step); }

  Status Load(uint32_t table, uint64_t id, std::span<const float> values,
              std::span<const float> state) override {
    const uint32_t number = numbers_.Of(table, id);
    if (!rests_.empty()) rests_.set_last(number, state.back());
    loaded_.Add(number, values, state.first(state_width_));
    return loaded_.count() < kCopiedRows ? OkStatus() : EndLoad();
  }

  Status EndLoad() override { return loaded_.Write(stored()); }

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
    std::vector<float> state(static_cast<size_t>(rule_.StatePerRow(layout_.embedding_dimension())));
    rule_.InitialState(dimension_, state);  // of which all that the device has is the same
    const auto stream = compute_.device->MakeStream();
    for (const TableSpec& table : layout_.tables()) {
      compute_.update->initialize_rows(*stream, stored(), numbers_.Of(table.id, 0), table.row_count,
                                       KeyedHash(layout_.seed(), RunStream::kInitialRow, table.id),
                                       1.0 / std::sqrt(static_cast<double>(table.row_count)),
                                       state_width_ == 0 ? 0 : state[0]);
    }
    return stream->Synchronize();
  }

  // Ids [begin, begin + count) of a table, those that were trained.
  Status Fetch(uint32_t table, size_t begin, size_t count, store::RowPartitionStore* rows) const {
    const size_t first = numbers_.Of(table, begin);
    std::vector<uint8_t> is_trained(count);
    std::vector<float> values(count * dimension_), state(count * state_width_), row_state;
    const auto stream = compute_.device->MakeStream();
    stream->CopyToHost<uint8_t>(is_trained_.span().subspan(first, count), is_trained);
    stream->CopyToHost<float>(values_.span().subspan(first * dimension_, values.size()), values);
    stream->CopyToHost<float>(state_.span().subspan(first * state_width_, state.size()), state);
    WEIR_RETURN_IF_ERROR(stream->Synchronize());
    for (size_t i = 0; i < count; ++i) {
      if (is_trained[i] == 0 && !loaded_.has(first + i)) continue;
      row_state.assign(state.begin() + static_cast<ptrdiff_t>(i * state_width_),
                       state.begin() + static_cast<ptrdiff_t>((i + 1) * state_width_));
      if (!rests_.empty()) row_state.push_back(rests_.last(first + i));
      rows->Load(table, begin + i, std::span(values).subspan(i * dimension_, dimension_),
                 row_state);
    }
    return OkStatus();
  }

  const ModelLayout& layout_;
  const store::UpdateRule& rule_;
  const kernels::Compute compute_;
  const size_t dimension_, state_width_;
  // [rows, dimension_], [rows, state_width_]: without the last step, which rests_ has.
  device::Buffer<float> values_, state_;
  device::Buffer<uint8_t> is_trained_;  // [rows]
  RowNumbers numbers_;
  RowRests rests_;
  device::StepOrder order_;
  Status failure_;
  LoadedRows loaded_;
};

}  // namespace

std::unique_ptr<RowParameters> MakeDeviceRows(const ModelLayout& layout,
                                              const store::UpdateRule& rule,
                                              const kernels::Compute& compute) {
  constexpr size_t kMost = UINT32_MAX - 1;
  if (const size_t count = RowCount(layout); count > kMost) {
    LOG(WARNING) << "the tables have " << count << " rows, and " << compute.device->name()
                 << " has numbers for " << kMost
                 << " at most: rows stay on the host, which makes those that are trained";
    return nullptr;
  }
  return std::make_unique<DeviceRows>(layout, rule, compute);
}

}  // namespace weir::worker
