#include <bitset>
#include <mutex>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/config/validate_config.h"
#include "common/saved_model/frames.h"
#include "common/store/row_table.h"
#include "worker/embedded/partitioned_rows.h"
#include "worker/embedded/row_parameters.h"

namespace weir::worker {
namespace {

// Rows are locked by partition, reads included: the index grows and optimizer state must not race.
// A batch takes each lock once to read and once to apply, those that are free first, so that
// threads seldom wait for each other; what a row becomes does not depend on the order of the
// partitions. A push that brings its pull along finds the rows where reading has found them.
class HostRows : public RowParameters {
 public:
  HostRows(int32_t partition_count, const ModelLayout& layout, const store::UpdateRule& rule) {
    CHECK_LE(partition_count, config::kMaxRowPartitions);
    for (int32_t i = 0; i < partition_count; ++i) {
      partitions_.push_back(std::make_unique<Partition>(layout, rule));
    }
  }

  bool is_on_device() const override { return false; }

  std::unique_ptr<RowPull> Pull(const data::Batch& batch, bool read_only) override {
    return std::make_unique<HostPull>(this, &batch, read_only);
  }

  Status Read(RowPull* base, uint64_t step, std::span<float> rows) override {
    auto& pull = static_cast<HostPull&>(*base);
    pull.rows = TakeScratch();
    pull.rows->Fill(*pull.batch);
    ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
      if (pull.read_only) {
        store.ReadBatchOrInitial(pull.rows->part(i), step, rows);
      } else {
        store.ReadBatch(pull.rows->part(i), step, rows, &pull.rows->places(i));
      }
    });
    return OkStatus();
  }

  Status ReadOnDevice(RowPull*, uint64_t, device::Stream&, device::Span<float>) override {
    LOG(FATAL) << "these rows are not on a device";
    return OkStatus();
  }

  Status Apply(const StepGradients& gradients, uint64_t step) override {
    if (gradients.pull != nullptr) {
      ApplyWhereRead(static_cast<HostPull&>(*gradients.pull), gradients.rows, step);
    } else {
      ApplyBatch(*gradients.batch, gradients.rows, step);
    }
    return OkStatus();
  }

  void StartAt(uint64_t step) override {
    for (const auto& partition : partitions_) partition->rows.StartAt(step);
  }

  Status Load(uint32_t table, uint64_t id, std::span<const float> values,
              std::span<const float> state) override {
    const auto count = static_cast<uint32_t>(partitions_.size());
    partitions_[RowPartition(table, id, count)]->rows.Load(table, id, values, state);
    return OkStatus();
  }
  Status EndLoad() override { return OkStatus(); }

  Status Save(uint64_t step, const std::function<Status(ByteSpan frames)>& take) override {
    for (const auto& partition : partitions_) {
      const std::lock_guard lock(partition->mutex);
      WEIR_RETURN_IF_ERROR(saved_model::TakeRows(step, &partition->rows, take));
    }
    return OkStatus();
  }

 private:
  // The batch stays with its thread until the rows are read, so a pull is only a reminder of it.
  struct HostPull : RowPull {
    HostPull(HostRows* o, const data::Batch* b, bool r) : owner(*o), batch(b), read_only(r) {}
    ~HostPull() override {
      if (rows != nullptr) owner.GiveScratchBack(std::move(rows));
    }

    HostRows& owner;
    const data::Batch* const batch;
    const bool read_only;
    std::unique_ptr<PartitionedRows> rows;  // once they are read
  };

  struct Partition {
    Partition(const ModelLayout& layout, const store::UpdateRule& rule) : rows(layout, rule) {}
    std::mutex mutex;  // the library's own: ForEachPartition tries it
    store::RowPartitionStore rows;
  };

  void ApplyWhereRead(HostPull& pull, std::span<const float> gradients, uint64_t step) {
    CHECK(pull.rows != nullptr && !pull.read_only) << "a push of rows that were not read to train";
    ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
      store.ApplyPlaces(pull.rows->places(i), gradients, step);
    });
  }

  void ApplyBatch(const data::Batch& batch, std::span<const float> gradients, uint64_t step) {
    std::unique_ptr<PartitionedRows> rows = TakeScratch();
    rows->Fill(batch);
    ForEachPartition([&](store::RowPartitionStore& store, size_t i) {
      store.ApplyBatch(rows->part(i), gradients, step);
    });
    GiveScratchBack(std::move(rows));
  }

  // Calls use(store, partition) for each, holding its lock.
  template <typename Use>
  void ForEachPartition(const Use& use) {
    std::bitset<config::kMaxRowPartitions> busy;
    for (size_t i = 0; i < partitions_.size(); ++i) {
      const std::unique_lock lock(partitions_[i]->mutex, std::try_to_lock);
      busy[i] = !lock.owns_lock();
      if (!busy[i]) use(partitions_[i]->rows, i);
    }
    for (size_t i = 0; busy.any() && i < partitions_.size(); ++i) {
      if (!busy[i]) continue;
      const std::lock_guard lock(partitions_[i]->mutex);
      use(partitions_[i]->rows, i);
    }
  }

  std::unique_ptr<PartitionedRows> TakeScratch() {
    MutexLock lock(scratch_mutex_);
    if (scratch_.empty()) return std::make_unique<PartitionedRows>(partitions_.size());
    std::unique_ptr<PartitionedRows> scratch = std::move(scratch_.back());
    scratch_.pop_back();
    return scratch;
  }
  void GiveScratchBack(std::unique_ptr<PartitionedRows> scratch) {
    MutexLock lock(scratch_mutex_);
    scratch_.push_back(std::move(scratch));
  }

  std::vector<std::unique_ptr<Partition>> partitions_;
  Mutex scratch_mutex_;
  // As many as pulls there were at once.
  std::vector<std::unique_ptr<PartitionedRows>> scratch_ WEIR_GUARDED_BY(scratch_mutex_);
};

}  // namespace

std::unique_ptr<RowParameters> MakeHostRows(const v1::Config& config, const ModelLayout& layout,
                                            const store::UpdateRule& rule) {
  return std::make_unique<HostRows>(config.cluster().row_partitions(), layout, rule);
}

}  // namespace weir::worker
