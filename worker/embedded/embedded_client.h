// ParameterClient without servers: the store in this process, applied to directly, and a director
// of its own for the input.
//
// Parameters are in this process's memory, or on the device where it has memory of its own.
//
// Place in the life of a batch: **pull rows** ... **apply**.
// Thread rule: any thread. Borrows config and layout.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/cluster/run_book.h"
#include "common/kernels/compute.h"
#include "common/layout/model_layout.h"
#include "common/proto/config.pb.h"
#include "common/saved_model/saved_model.h"
#include "common/store/update_rule.h"
#include "worker/client/parameter_client.h"
#include "worker/embedded/dense_parameters.h"
#include "worker/embedded/embedded_checkpoints.h"
#include "worker/embedded/row_parameters.h"

namespace weir::worker {

class EmbeddedClient : public ParameterClient {
 public:
  EmbeddedClient(const v1::Config& config, const ModelLayout& layout,
                 const kernels::Compute& compute = kernels::CpuCompute(kernels::Precision::kF32));

  // As RunDirector's, before the first step.
  bool SetFileCounts(uint32_t train, uint32_t test) {
    return run_book_.director().SetFileCounts(train, test);
  }

  // Takes a saved model over, before anything else. FailedPrecondition when it is another one.
  Status Load(const saved_model::SavedModel& model);
  // The same, where the model is a checkpoint, of where its run was.
  Status Resume(const cluster::PartMap& run) { return checkpoints_.Resume(run); }
  Status KeepCheckpoints(EmbeddedCheckpoints::Options options) {
    return checkpoints_.Start(std::move(options));
  }

  device::Pointer<const float> replica() const override { return dense_->replica(); }
  bool has_rows_on_device() const override { return rows_->is_on_device(); }
  bool applies_rows_on_device() const override { return rows_->is_on_device(); }
  std::unique_ptr<RowPull> PullRows(const data::Batch& batch, bool read_only) override;
  Status AwaitRows(RowPull* pull, std::span<float> rows) override;
  Status AwaitRowsOnDevice(RowPull* pull, device::Stream& stream,
                           device::Span<float> rows) override;
  ReadMark MarkRead() override { return {}; }
  Result<uint64_t> Push(const StepGradients& step) override;
  Status AwaitAccepted(uint64_t) override { return failure(); }
  Status Refresh() override;
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override;
  Result<v1::ReportReply> SendReport(v1::Report report) override;
  Result<SavedSteps> Save(const std::function<Status(ByteSpan frames)>& take) override;
  Result<std::optional<saved_model::KeptStates>> PutAside(uint64_t checkpoint) override;
  void FillReport(v1::WorkerReport*) override {}
  void Stop(const Status& status, bool tell_others) override;

 private:
  Status failure() const;
  Status Apply(const StepGradients& step, PushSeconds* times);
  Status AwaitSteps();

  const v1::Config& config_;
  const ModelLayout& layout_;
  const std::unique_ptr<store::UpdateRule> dense_rule_;
  const std::unique_ptr<store::UpdateRule> row_rule_;
  const std::unique_ptr<DenseParameters> dense_;
  const std::unique_ptr<RowParameters> rows_;
  std::atomic<uint64_t> step_ = 0;

  mutable Mutex mutex_;
  Status failure_ WEIR_GUARDED_BY(mutex_);
  // Of the thread that asks for work; under the lock, but while a checkpoint is written.
  cluster::RunBook run_book_;
  EmbeddedCheckpoints checkpoints_;
};

}  // namespace weir::worker
