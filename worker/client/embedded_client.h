// ParameterClient without servers: the store in this process, applied to directly, and a director
// of its own for the input.
//
// Threads update the dense parameters under one lock per tensor (two threads must not lose
// optimizer state) and read them without (common/base/hogwild.h). Rows are locked by partition,
// reads included: the index grows and optimizer state must not race. A batch takes each lock once
// to read and once to apply, those that are free first, so that threads seldom wait for each other;
// what a row becomes does not depend on the order of the partitions. A push that brings its pull
// along finds the rows where reading has found them.
//
// Place in the life of a batch: **pull rows** ... **apply**.
// Thread rule: any thread. Borrows config and layout.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "common/base/check.h"
#include "common/cluster/run_book.h"
#include "common/device/buffers.h"
#include "common/device/cpu_device.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/saved_model/saved_model.h"
#include "common/store/row_table.h"
#include "common/store/update_rule.h"
#include "common/tensor/aligned_buffer.h"
#include "worker/client/parameter_client.h"
#include "worker/client/partitioned_rows.h"

namespace weir::worker {

class EmbeddedClient : public ParameterClient {
 public:
  EmbeddedClient(const v1::Config& config, const ModelLayout& layout,
                 const kernels::Compute& compute = kernels::CpuCompute(kernels::Precision::kF32));

  // As RunDirector's, before anything else.
  void SetFileCounts(uint32_t train, uint32_t test) {
    CHECK(run_book_.director().SetFileCounts(train, test));
  }

  // Takes a saved model over, before anything else. FailedPrecondition when it is another one.
  Status Load(const saved_model::SavedModel& model);

  device::Pointer<const float> replica() const override {
    return replica_.empty() ? device::OnCpu(values_.data()) : replica_.data();
  }
  std::unique_ptr<RowPull> PullRows(const data::Batch& batch, bool read_only) override;
  Status AwaitRows(RowPull* pull, std::span<float> rows) override;
  ReadMark MarkRead() override { return {}; }
  Result<uint64_t> Push(const StepGradients& step) override;
  Status AwaitAccepted(uint64_t) override { return failure(); }
  Status Refresh() override { return failure(); }
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override;
  Result<v1::ReportReply> SendReport(v1::Report report) override;
  Result<SavedSteps> Save(const std::function<Status(ByteSpan frames)>& take) override;
  void FillReport(v1::WorkerReport*) override {}
  void Stop(const Status& status, bool tell_others) override;

 private:
  struct Pull;
  struct RowPartitionSlot {
    RowPartitionSlot(const ModelLayout& layout, const store::UpdateRule& rule)
        : rows(layout, rule) {}
    std::mutex mutex;
    store::RowPartitionStore rows;
  };

  void Initialize(const TensorSpec& tensor);
  Status ApplyDense(const StepGradients& gradients, uint64_t step);
  // To a device that has memory of its own; by a stream of its own where none is given.
  Status UploadReplica(device::Stream* stream);
  // Once the pull's rows are read.
  void ApplyWhereRead(Pull& pull, std::span<const float> gradients, uint64_t step);
  void ApplyRows(const data::Batch& batch, std::span<const float> gradients, uint64_t step);
  // Calls visit(tensor, first element, values, state) for each stripe.
  template <typename Visit>
  void ForEachStripe(const TensorSpec& tensor, const Visit& visit);
  // Calls use(store, partition) for each, holding its lock.
  template <typename Use>
  void ForEachPartition(const Use& use);
  std::unique_ptr<PartitionedRows> TakeScratch();
  void GiveScratchBack(std::unique_ptr<PartitionedRows> scratch);
  Status failure() const;

  const v1::Config& config_;
  const ModelLayout& layout_;
  const std::unique_ptr<store::UpdateRule> dense_rule_;
  const std::unique_ptr<store::UpdateRule> row_rule_;
  tensor::AlignedBuffer values_;  // flat
  device::Device& device_;
  device::Buffer<float> replica_;  // of a device that has memory of its own
  tensor::AlignedBuffer state_;    // flat, StatePerElement() floats per element, stripe by stripe
  std::atomic<uint64_t> step_ = 0;
  std::vector<std::mutex> tensor_mutexes_;
  std::vector<std::unique_ptr<RowPartitionSlot>> partitions_;
  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<PartitionedRows>> scratch_;  // as many as pulls there were at once

  mutable std::mutex mutex_;
  Status failure_;
  cluster::RunBook run_book_;
};

}  // namespace weir::worker
