// ParameterClient over the network: row pulls and pushes through the link, gradients through the
// policies, rows that are still young from the cache.
//
// Place in the life of a batch: **pull rows** ... **push**.
// Thread rule: any thread. Borrows config and layout; owns link and encoder.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/device/device.h"
#include "common/saved_model/saved_model.h"
#include "worker/client/parameter_client.h"
#include "worker/client/push_schedule.h"
#include "worker/client/row_caches.h"
#include "worker/client/server_pull.h"
#include "worker/link/server_link.h"
#include "worker/push/step_encoder.h"

namespace weir::worker {

class PushInParts;

class ServerClient : public ParameterClient {
 public:
  ServerClient(const v1::Config& config, const ModelLayout& layout, LinkOptions options,
               std::unique_ptr<transport::ClientTransport> transport);

  Status Connect();

  // See ServerLink.
  void TellAdopted(uint64_t generation, bool awaited_next) {
    link_.TellAdopted(generation, awaited_next);
  }
  void TellLost(uint64_t generation) { link_.TellLost(generation); }
  const Clock& clock() const { return link_.clock(); }

  uint32_t trainer() const override { return link_.trainer(); }
  device::Pointer<const float> replica() const override { return link_.replica(); }
  compress::SquareSumsOfTensors square_sums() const override { return encoder_.square_sums(); }
  bool needs_row_squares() const override { return encoder_.needs_row_squares(); }
  std::unique_ptr<RowPull> PullRows(const data::Batch& batch, bool read_only) override;
  Status AwaitRows(RowPull* pull, std::span<float> rows) override;
  bool rows_may_come_ahead() const override { return true; }
  bool has_rows_on_device() const override { return caches_.on_device != nullptr; }
  Status AwaitRowsOnDevice(RowPull* pull, device::Stream& stream,
                           device::Span<float> rows) override;
  void Forget(RowPull* pull) override;
  bool has_volatile() const override { return link_.has_volatile(); }
  ReadMark MarkRead() override;
  std::unique_ptr<PushScratch> NewPushScratch() const override;
  std::unique_ptr<BegunPush> BeginPush(const StepGradients& step) override;
  Result<uint64_t> Push(const StepGradients& step) override;
  void SetPlace(uint32_t rank, uint32_t trainer_count) override {
    encoder_.SetPlace(rank, trainer_count);
  }
  void SetWindow(int window, bool awaits_answers) override;
  Status AwaitAccepted(uint64_t sequence) override { return link_.AwaitAccepted(sequence); }
  Status AwaitDurable(uint64_t sequence) override { return link_.AwaitDurable(sequence); }
  Status Refresh() override;
  Result<v1::WorkReply> RequestWork(v1::WorkRequest request, std::vector<Bytes> scores) override;
  Result<v1::ReportReply> SendReport(v1::Report report) override;
  Result<SavedSteps> Save(const std::function<Status(ByteSpan frames)>& take) override;
  Result<std::optional<saved_model::KeptStates>> PutAside(uint64_t checkpoint) override;
  void FillReport(v1::WorkerReport* report) override;
  void Stop(const Status& status, bool tell_others) override { link_.Stop(status, tell_others); }

  uint64_t run() const { return link_.run(); }  // once connected
  std::optional<uint64_t> begun_with() const { return link_.begun_with(); }

  // What the policies remember (policy_states.h). Before Connect, of the model that the run goes on
  // from; Connect takes it over, unless this process is not the first of its seat: that one may
  // have sent it. And of this worker, after the last step.
  Status ReadPolicyStates(const saved_model::SavedModel& model);
  Status SavePolicyStates(const std::string& folder) const;

 private:
  Result<uint64_t> Push(const StepGradients& step, PushSeconds* times);
  Result<uint64_t> Keep(const StepGradients& step, const StepEncoder::Dense& dense,
                        PushSeconds* times);
  Result<StepEncoder::Dense> DenseOf(const StepGradients& step) const;
  std::unique_ptr<ServerPull> MakePull(const data::Batch& batch,
                                       bool read_only);  // to be submitted
  // In a round whose trainers agree on what they send: asks them.
  struct Encoded {
    std::vector<Body> bodies;
    std::shared_ptr<const AgreedPieces> agreed;  // null: nobody was asked
  };
  Result<Encoded> Encode(const StepGradients& step, const StepEncoder::Dense& dense,
                         PushSeconds* times);
  Result<Encoded> EncodeAgreed(const StepGradients& step, const StepEncoder::Dense& dense,
                               PushSeconds* times);
  Result<std::vector<Body>> Propose(const StepEncoder::Dense& dense, const compress::Turn& turn,
                                    v1::Proposal* header, PushSeconds* times);
  Result<ServerLink::Agreed> Agree(v1::Proposal proposal, std::vector<Body> proposed,
                                   PushSeconds* times);
  uint64_t Send(const StepGradients& step, Encoded encoded);
  Status Measure(const StepGradients& step);  // whose push has just left
  void CountDense(const data::Batch& batch, bool is_step);
  Status LoadPolicyStates();
  Status Refresh(uint64_t checkpoint);

  const ModelLayout& layout_;
  const std::optional<uint32_t> stage_number_;  // nothing: the whole model
  const StageSpec stage_;
  device::Device& device_;
  uint64_t dense_bytes_ = 0;  // of its tensors, 32 bits each
  const RowCaches caches_;
  std::atomic<uint64_t> pull_step_{0};
  StepEncoder encoder_;
  PushSchedule schedule_;
  saved_model::KeptStates read_states_;  // until Connect
  ServerLink link_;
};

}  // namespace weir::worker
